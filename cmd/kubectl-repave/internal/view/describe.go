// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// page is a text of headed sections with aligned fields. Fields without a value are left out: a page of <none> hides what is
// there.
type page struct{ strings.Builder }

func (p *page) section(title string, fields ...[2]string) {
	width := 0
	kept := slices.DeleteFunc(fields, func(f [2]string) bool { return Plain(f[1]) == "" })
	for _, f := range kept {
		width = max(width, len(f[0])+1)
	}
	if len(kept) == 0 {
		return
	}
	p.title(title)
	for _, f := range kept {
		fmt.Fprintf(p, "  %-*s  %s\n", width, f[0]+":", Plain(f[1]))
	}
}

func (p *page) title(title string) {
	if p.Len() > 0 {
		p.WriteByte('\n')
	}
	p.WriteString(title + "\n")
}

func (p *page) table(title string, rows [][]string) {
	if len(rows) < 2 { // nothing but headings
		return
	}
	p.title(title)
	for line := range strings.Lines((&Table{}).Lines(rows...)) {
		p.WriteString("  " + line)
	}
}

// Host describes one host on a page.
func Host(host *infrav1.RepaveHost, now time.Time) string {
	var p page
	status := &host.Status
	about := [][2]string{
		{"Namespace", host.Namespace}, {"Phase", string(status.Phase)}, {"Why", Why(status.Conditions, infrav1.ConditionReady)},
		{"Power", string(status.Power)}, {"Age", age(host.CreationTimestamp, now)},
	}
	if host.Spec.ClaimRef != nil {
		about = append(about, [2]string{"Machine", host.Spec.ClaimRef.Name})
	}
	if status.NodeRef != nil {
		about = append(about, [2]string{"Node", status.NodeRef.Name})
	}
	p.section("Host "+host.Name, about...)
	p.wish(host)
	p.bmc(host)
	p.operation(status, host.Spec.Operations, now)
	p.agent(status.Agent)
	p.netboot(status.Netboot)
	p.conditions(status.Conditions, now)
	p.history(status.History)
	return p.String()
}

func (p *page) wish(host *infrav1.RepaveHost) {
	var macs []string
	for _, card := range host.Spec.Interfaces {
		macs = append(macs, card.MAC)
	}
	fields := [][2]string{{"Interfaces", strings.Join(macs, ", ")}, {"Root device", rootDevice(host.Spec.RootDevice)}}
	if desired := host.Spec.Desired; desired != nil {
		if desired.Image != nil {
			fields = append(fields, [2]string{"Image", desired.Image.Ref}, [2]string{"State", string(desired.State)})
		}
		if desired.Netboot != nil {
			fields = append(fields, [2]string{"Netboot image", desired.Netboot.Image.Ref})
		}
		fields = append(fields, [2]string{"Provider ID", desired.ProviderID})
	}
	p.section("Wanted", fields...)
}

func rootDevice(hints *infrav1.RootDevice) string {
	if hints == nil {
		return "not set: no disk may be written"
	}
	var parts []string
	for _, hint := range [][2]string{{"serial number", hints.SerialNumber}, {"WWN", hints.WWN}, {"device", hints.DeviceName}} {
		if hint[1] != "" {
			parts = append(parts, hint[0]+" "+hint[1])
		}
	}
	if hints.MinSizeGigabytes > 0 {
		parts = append(parts, fmt.Sprintf("at least %d GB", hints.MinSizeGigabytes))
	}
	return strings.Join(parts, ", ")
}

func (p *page) bmc(host *infrav1.RepaveHost) {
	if host.Spec.BMC == nil {
		p.section("BMC", [2]string{"Address", "none: no power control, in-place repaves only"})
		return
	}
	fields := [][2]string{
		{"Address", host.Spec.BMC.Address}, {"System", host.Spec.BMC.SystemID}, {"TLS", string(host.Spec.BMC.TLS.Mode)},
		{"Reachable", Why(host.Status.Conditions, infrav1.ConditionBMCReachable)},
	}
	if facts := host.Status.BMC; facts != nil {
		fields = append(fields, [][2]string{
			{"Certificate", facts.CertificateFingerprint}, {"Manufacturer", facts.Manufacturer}, {"Model", facts.Model},
			{"Serial number", facts.SerialNumber}, {"UUID", facts.UUID}, {"Firmware", facts.FirmwareVersion},
			{"Resets", strings.Join(facts.Capabilities.ResetTypes, ", ")}, {"Boot targets", strings.Join(facts.Capabilities.BootTargets, ", ")},
		}...)
	}
	p.section("BMC", fields...)
}

func (p *page) operation(status *infrav1.RepaveHostStatus, asked infrav1.Counters, now time.Time) {
	counter := func(asked, acknowledged int64) string {
		text := fmt.Sprintf("%d acknowledged", acknowledged)
		if asked > acknowledged {
			text += fmt.Sprintf(", %d asked for", asked)
		}
		return text
	}
	fields := [][2]string{
		{"Reboots", counter(asked.RebootCounter, status.Operations.RebootCounter)},
		{"Repaves", counter(asked.RepaveCounter, status.Operations.RepaveCounter)},
	}
	if op := status.Operation; op != nil {
		fields = append(fields, [][2]string{
			{"In flight", fmt.Sprintf("%s %s by %s", op.Kind, op.ID, op.Method)},
			{"Step", fmt.Sprintf("%s, attempt %d, since %s", op.Step, op.Attempt, duration.HumanDuration(now.Sub(op.StepAt.Time)))},
			{"Started", duration.HumanDuration(now.Sub(op.StartedAt.Time)) + " ago"},
			{"Last failure", op.Message},
		}...)
	}
	p.section("Operations", fields...)
}

func (p *page) conditions(conditions []metav1.Condition, now time.Time) {
	rows := [][]string{{"TYPE", "STATUS", "SINCE", "WHY"}}
	for _, c := range conditions {
		rows = append(rows, []string{c.Type, string(c.Status), age(c.LastTransitionTime, now), Why(conditions, c.Type)})
	}
	p.table("Conditions", rows)
}

func (p *page) history(history []infrav1.OperationRecord) {
	rows := [][]string{{"STARTED", "KIND", "WHY", "OUTCOME", "ATTEMPTS", "TOOK", "MESSAGE"}}
	for _, r := range history {
		took := duration.HumanDuration(time.Duration(r.DurationSeconds) * time.Second)
		rows = append(rows, []string{r.StartedAt.UTC().Format(time.RFC3339), string(r.Kind), r.Why, string(r.Outcome), fmt.Sprint(r.Attempts), took, r.Message})
	}
	p.table("History", rows)
}
