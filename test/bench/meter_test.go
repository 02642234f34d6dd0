// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/repave-io/cluster-api-provider-repave/test/lab"
)

// tick is the unit of CPU time in /proc: USER_HZ, which is 100 on Linux whatever the kernel's own clock.
const tick = 10 * time.Millisecond

// diagnosticsFlag is how the lab tells a process where to serve its metrics.
const diagnosticsFlag = "--diagnostics-address="

// counts are numbers of requests, by what they were.
type counts map[string]float64

// since takes away what was counted before.
func (c counts) since(before counts) counts {
	difference := counts{}
	for what, n := range c {
		if d := n - before[what]; d > 0 {
			difference[what] = d
		}
	}
	return difference
}

// sum adds up those for which is says true.
func (c counts) sum(is func(what string) bool) float64 {
	total := 0.0
	for what, n := range c {
		if is(what) {
			total += n
		}
	}
	return total
}

// each says the counts divided by n on one line, the greatest first, without what rounds to nothing.
func (c counts) each(n int) string {
	share := func(what string) float64 { return c[what] / float64(n) }
	var said []string
	for _, what := range slices.SortedFunc(maps.Keys(c), func(a, b string) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(a, b))
	}) {
		if share(what) >= 0.005 {
			said = append(said, fmt.Sprintf("%.2f %s", share(what), what))
		}
	}
	return strings.Join(said, ", ")
}

// isWrite tells the methods of HTTP that change something. A watch and a list are GETs.
func isWrite(what string) bool {
	method, _, _ := strings.Cut(what, " ")
	return method != http.MethodGet
}

// sent counts the requests that a process of Repave sent to the API server, by method and status. It is client-go's own count,
// kept in that process, so that nobody else's requests are in it.
func sent(ctx context.Context, p *lab.Process) (counts, error) {
	address, err := diagnostics(p)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading the metrics of %s: %w", p.Name(), err)
	}
	defer response.Body.Close()
	return count(response.Body, "rest_client_requests_total", func(label func(string) string) string {
		return label("method") + " " + label("code")
	})
}

// served counts the writes that the API server served, by verb and resource, whoever sent them.
func served(metrics []byte) (counts, error) {
	return count(bytes.NewReader(metrics), "apiserver_request_total", func(label func(string) string) string {
		verb := label("verb")
		if !slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE"}, verb) {
			return ""
		}
		return strings.TrimSuffix(verb+" "+label("resource")+"/"+label("subresource"), "/") + " " + label("code")
	})
}

// count adds up one counter in Prometheus' text format by what name makes of the labels; "" is left out.
func count(text io.Reader, counter string, name func(label func(string) string) string) (counts, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	family, ok := families[counter]
	if !ok {
		return nil, fmt.Errorf("reading metrics: there is no %s", counter)
	}
	c := counts{}
	for _, metric := range family.GetMetric() {
		what := name(func(label string) string { return value(metric, label) })
		if what != "" {
			c[what] += metric.GetCounter().GetValue()
		}
	}
	return c, nil
}

func value(metric *dto.Metric, label string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == label {
			return pair.GetValue()
		}
	}
	return ""
}

// diagnostics is where a process serves its metrics: the lab chose a free port and told only the process.
func diagnostics(p *lab.Process) (string, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID()))
	if err != nil {
		return "", fmt.Errorf("reading the arguments of %s: %w", p.Name(), err)
	}
	for argument := range strings.SplitSeq(string(line), "\x00") {
		if address, ok := strings.CutPrefix(argument, diagnosticsFlag); ok {
			return address, nil
		}
	}
	return "", fmt.Errorf("reading the arguments of %s: it serves no metrics", p.Name())
}

// cpu is the processor time that a process has used, in user and kernel mode.
func cpu(p *lab.Process) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of %s: %w", p.Name(), err)
	}
	return parseCPU(string(stat))
}

// parseCPU reads the fields utime and stime of proc(5), the 14th and 15th. The second, the program's name, may hold anything,
// also blanks and brackets: what follows its last bracket is counted.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading CPU time: %d fields after the name", len(fields))
	}
	total := time.Duration(0)
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading CPU time: %w", err)
		}
		total += time.Duration(ticks) * tick
	}
	return total, nil
}
