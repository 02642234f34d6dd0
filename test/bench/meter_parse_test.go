// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestServedCountsWritesByResource(t *testing.T) {
	g := NewWithT(t)
	before, err := served([]byte(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="g",resource="repavehosts",subresource="status",verb="PATCH"} 3
apiserver_request_total{code="200",group="g",resource="repavehosts",subresource="",verb="PATCH"} 2
`))
	g.Expect(err).NotTo(HaveOccurred())
	after, err := served([]byte(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",dry_run="",group="g",resource="repavehosts",subresource="status",verb="PATCH"} 5
apiserver_request_total{code="200",dry_run="x",group="g",resource="repavehosts",subresource="status",verb="PATCH"} 4
apiserver_request_total{code="200",group="g",resource="repavehosts",subresource="",verb="PATCH"} 2
apiserver_request_total{code="0",group="g",resource="repavehosts",subresource="",verb="WATCH"} 7
`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.since(before)).To(Equal(counts{"PATCH repavehosts/status 200": 6}))
	g.Expect(after.since(before).each(2)).To(Equal("3.00 PATCH repavehosts/status 200"))
	_, err = served([]byte("other 1\n"))
	g.Expect(err).To(MatchError("reading metrics: there is no apiserver_request_total"))
}

func TestEachNamesTheGreatestFirst(t *testing.T) {
	g := NewWithT(t)
	c := counts{"a": 1, "b": 1, "c": 5, "rare": 0.01}
	g.Expect(c.each(10)).To(Equal("0.50 c, 0.10 a, 0.10 b"))
}

func TestWritesAreToldFromReads(t *testing.T) {
	g := NewWithT(t)
	sent := counts{"GET 200": 5, "POST 201": 3, "PATCH 409": 1, "PUT 200": 1, "DELETE 200": 1}
	g.Expect(sent.sum(isWrite)).To(Equal(6.0))
}

func TestParseCPU(t *testing.T) {
	for _, test := range []struct {
		name, stat string
		want       time.Duration
		wrong      bool
	}{
		{name: "plain", stat: "7 (repave) S 1 7 7 0 -1 4194304 900 0 0 0 123 45 0 0 20 0 11 0", want: 1680 * time.Millisecond},
		{name: "a bracket and a blank in the name", stat: "7 (a) b) S 1 7 7 0 -1 4194304 900 0 0 0 1 2 0 0 20", want: 30 * time.Millisecond},
		{name: "cut short", stat: "7 (repave) S 1", wrong: true},
		{name: "no number", stat: "7 (repave) S 1 7 7 0 -1 4194304 900 0 0 0 x 45 0", wrong: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := parseCPU(test.stat)
			g.Expect(err != nil).To(Equal(test.wrong))
			g.Expect(got).To(Equal(test.want))
		})
	}
}
