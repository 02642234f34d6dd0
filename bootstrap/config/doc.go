// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config makes the bootstrap data of RepaveConfigs.
//
// What enters are a RepaveConfig, the Machine or MachinePool that uses it, and its Cluster; what leaves are a join token in the
// workload cluster, the rights that such tokens need there, and the Secret with the data. The bytes are render's. The package must
// not know hosts, nor who reads the data: that is agreed in the contract of Cluster API alone.
package config
