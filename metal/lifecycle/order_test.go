// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

func TestBoot(t *testing.T) {
	open := func(step infrav1.OperationStep) *infrav1.Operation {
		op := anOperation()
		op.Step = step
		return op
	}
	tests := []struct {
		name string
		view BootView
		want BootAnswer
	}{
		{"nothing open", BootView{Order: "op1.2"}, Nothing},
		{"no order named", BootView{Operation: open(infrav1.StepInstalling)}, Nothing},
		{"the order, on its way up", BootView{Order: "op1.2", Operation: open(infrav1.StepPoweringOn)}, Installer},
		{"the order", BootView{Order: "op1.2", Operation: open(infrav1.StepInstalling)}, Installer},
		{"the order of the attempt before", BootView{Order: "op1.1", Operation: open(infrav1.StepInstalling)}, Nothing},
		{"redeemed", BootView{Order: "op1.2", Operation: open(infrav1.StepInstalling), Redeemed: "op1.2"}, LocalDisk},
		{"redeemed, and status lost since", BootView{Order: "op1.2", Operation: open(infrav1.StepProving)}, LocalDisk},
		{"redeemed and long done", BootView{Order: "op1.2", Redeemed: "op1.2"}, LocalDisk},
		{"too early: the host was not seen off yet", BootView{Order: "op1.2", Operation: open(infrav1.StepForcingOff)}, Nothing},
		{"given up", BootView{Order: "op1.2", Operation: open(infrav1.StepGaveUp)}, Nothing},
		{"the claim ends", BootView{Order: "op1.2", Operation: open(infrav1.StepInstalling), Ending: true}, Nothing},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Boot(test.view); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestNothingIsInstalledForAMovedHost: the netboot server of the cluster that a host was moved from hands out nothing.
func TestNothingIsInstalledForAMovedHost(t *testing.T) {
	host := &infrav1.RepaveHost{}
	host.Status.Operation = anOperation()
	host.Status.Operation.Step = infrav1.StepInstalling
	for annotation, want := range map[string]BootAnswer{"other": Installer, infrav1.AnnotationDeleteForMove: Nothing} {
		host.Annotations = map[string]string{annotation: ""}
		view, err := ViewBoot(host, OrderID(*host.Status.Operation))
		if got := Boot(view); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", annotation, got, err, want)
		}
	}
}

func TestRedeemed(t *testing.T) {
	proving := anOperation()
	proving.Step = infrav1.StepProving
	for name, test := range map[string]struct {
		view BootView
		want bool
	}{
		"not yet":              {BootView{Order: "op1.2", Operation: anOperation()}, false},
		"by status":            {BootView{Order: "op1.2", Operation: anOperation(), Redeemed: "op1.2"}, true},
		"status lost since":    {BootView{Order: "op1.2", Operation: proving}, true},
		"of an attempt before": {BootView{Order: "op1.1", Operation: proving}, false},
		"no order":             {BootView{Operation: anOperation()}, false},
	} {
		if got := Redeemed(test.view); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestReleased(t *testing.T) {
	w := newWorld(t.Fatalf)
	w.settle(minute)
	w.claim("m", imageA)
	w.settle(60 * minute)
	if Released(w.object()) {
		t.Error("a host that serves says it is released")
	}
	w.spec.Desired = nil
	if Released(w.object()) {
		t.Error("released before anything was done")
	}
	w.settle(10 * minute)
	if !Released(w.object()) || w.box.power != infrav1.PowerOff {
		t.Errorf("not released, power %s: %s", w.box.power, w.annotation)
	}
	broken := w.object()
	broken.Annotations[infrav1.AnnotationRecord] = "{"
	if Released(broken) {
		t.Error("released by a record that cannot be read")
	}
}

func TestDiagramShowsEveryStep(t *testing.T) {
	drawn := Diagram()
	for _, step := range []infrav1.OperationStep{
		infrav1.StepPreparing, infrav1.StepShuttingDown, infrav1.StepForcingOff, infrav1.StepSettingBoot,
		infrav1.StepPoweringOn, infrav1.StepInstalling, infrav1.StepProving, infrav1.StepGaveUp,
	} {
		if !strings.Contains(drawn, "--> "+string(step)+":") || !strings.Contains(drawn, "    "+string(step)+" -->") || doing(step) == "" {
			t.Errorf("step %s has no way in or no way out, or no words:\n%s", step, drawn)
		}
	}
}
