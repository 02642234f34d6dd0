// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/cli-runtime/pkg/printers"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/cmd/kubectl-repave/internal/view"
)

// tablePrinter prints hosts as rows.
type tablePrinter struct {
	*plugin
	columns view.HostColumns
	table   view.Table
}

func (t *tablePrinter) all(list *infrav1.RepaveHostList) error {
	rows := [][]string{t.columns.Heading()}
	for i := range list.Items {
		rows = append(rows, t.columns.Row(&list.Items[i], t.now()))
	}
	_, err := fmt.Fprint(t.Out, t.table.Lines(rows...))
	return err
}

func (t *tablePrinter) one(host *infrav1.RepaveHost) error {
	_, err := fmt.Fprint(t.Out, t.table.Lines(t.columns.Row(host, t.now())))
	return err
}

// objectPrinter prints hosts as kubectl get does with -o.
type objectPrinter struct {
	*plugin
	printers.ResourcePrinter
	each bool // several hosts are printed one by one: there is no name of a list
}

func (o *objectPrinter) one(host *infrav1.RepaveHost) error { return o.PrintObj(host, o.Out) }

func (o *objectPrinter) all(list *infrav1.RepaveHostList) error {
	if !o.each {
		return o.PrintObj(list, o.Out)
	}
	for i := range list.Items {
		if err := o.one(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
