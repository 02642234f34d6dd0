// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package leaks

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestASecretIsFoundAndNotRepeated(t *testing.T) {
	g := NewWithT(t)
	places := map[string][]byte{"repave-netboot.log": []byte("GET /v1/orders/racks/r01/op.1/hunter2/boot"), "events": []byte("all is well")}
	err := Find([]Secret{{"a join token", "0123456789abcdef"}, {"an order's token", "hunter2"}}, places)
	g.Expect(err).To(MatchError("an order's token is readable in repave-netboot.log"))
	g.Expect(err.Error()).NotTo(ContainSubstring("hunter2"))
	g.Expect(Find([]Secret{{"a join token", "0123456789abcdef"}, {"no password", ""}}, places)).To(Succeed())
}
