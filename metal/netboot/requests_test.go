// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, method, url string, body []byte, header http.Header) reply {
	t.Helper()
	g := NewWithT(t)
	request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(response.Body.Close()).To(Succeed()) }()
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return reply{response.StatusCode, response.Header, string(content)}
}

func get(t *testing.T, url string) reply {
	t.Helper()
	return send(t, http.MethodGet, url, nil, nil)
}

func post(t *testing.T, url string, value any) reply {
	t.Helper()
	body, err := json.Marshal(value)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return send(t, http.MethodPost, url, body, nil)
}

// verb is the URL of a verb of a host's order, with its token.
func (s *site) verb(host *infrav1.RepaveHost, order, verb string) string {
	return s.urls.At(orderv1.Path(host.Namespace, host.Name, order, siteKey.Token(string(host.UID), order), verb))
}

func (r reply) into(t *testing.T, value any) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(r.status).To(Equal(http.StatusOK), r.body)
	g.Expect(r.header.Get("Content-Type")).To(Equal("application/json"))
	g.Expect(json.Unmarshal([]byte(r.body), value)).To(Succeed())
}

// parameter takes the URL of the plan out of a boot script, as an installer does.
func parameter(t *testing.T, script string) string {
	t.Helper()
	found := regexp.MustCompile(`\b` + regexp.QuoteMeta(orderv1.PlanParameter) + `=(\S+)`).FindStringSubmatch(script)
	NewWithT(t).Expect(found).To(HaveLen(2), script)
	return found[1]
}

// keepsSecrets checks that nothing said of an order in public holds what opens it.
func (s *site) keepsSecrets(t *testing.T, host *infrav1.RepaveHost, events []string, orders ...string) {
	t.Helper()
	g := NewWithT(t)
	status, err := json.Marshal(host)
	g.Expect(err).NotTo(HaveOccurred())
	for _, order := range orders {
		for _, secret := range []string{siteKey.Token(string(host.UID), order), siteKey.Credential(string(host.UID), order)} {
			g.Expect(s.journal.String()).NotTo(ContainSubstring(secret))
			g.Expect(string(status)).NotTo(ContainSubstring(secret))
			for _, event := range events {
				g.Expect(event).NotTo(ContainSubstring(secret))
			}
		}
	}
}

// counted reads a counter.
func counted(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var metric dto.Metric
	NewWithT(t).Expect(counter.Write(&metric)).To(Succeed())
	return metric.GetCounter().GetValue()
}
