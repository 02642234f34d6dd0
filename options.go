// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	capiflags "sigs.k8s.io/cluster-api/util/flags"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/repave-io/cluster-api-provider-repave/metal/lifecycle"
)

// The roles that the binary can play.
const (
	roleInfrastructure = "infrastructure"
	roleBootstrap      = "bootstrap"
	roleNetboot        = "netboot"
)

// maxInstallDeadline keeps an attempt shorter than a cluster keeps an approved certificate request (an hour): while the request is
// there, no second key can get a certificate by the same order.
const maxInstallDeadline = 55 * time.Minute

var allRoles = []string{roleInfrastructure, roleBootstrap, roleNetboot}

// options are the flags, once; the defaults are those of Cluster API's own managers.
type options struct {
	roles       []string
	namespace   string
	watchFilter string

	leaderElect          bool
	leaderElectNamespace string
	leaseDuration        time.Duration
	renewDeadline        time.Duration
	retryPeriod          time.Duration

	kubeAPIQPS   float32
	kubeAPIBurst int
	syncPeriod   time.Duration
	healthAddr   string
	diagnostics  capiflags.ManagerOptions
	logs         *logs.Options

	hostConcurrency         int
	machineConcurrency      int
	poolConcurrency         int
	clusterConcurrency      int
	configConcurrency       int
	clusterCacheConcurrency int
	clusterCacheQPS         float32
	clusterCacheBurst       int

	bmcTimeout      time.Duration
	bmcPollInterval time.Duration
	rebootDeadline  time.Duration
	installDeadline time.Duration

	netbootURL     string
	netbootListen  string
	netbootUsers   []string
	imageDir       string
	agentAPIServer string
	orderKeySecret string
}

func defaultOptions() *options { return &options{logs: logs.NewOptions()} }

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.roles, "roles", []string{roleInfrastructure}, "What this process does: "+strings.Join(allRoles, ", ")+".")
	fs.StringVar(&o.namespace, "namespace", "", "Namespace to watch; empty is all.")
	fs.StringVar(&o.watchFilter, "watch-filter", "", "Value of the label cluster.x-k8s.io/watch-filter that objects must have; empty is all.")

	fs.BoolVar(&o.leaderElect, "leader-elect", false, "Elect a leader, so that several replicas may run.")
	fs.StringVar(&o.leaderElectNamespace, "leader-elect-namespace", "", "Namespace of the leader's Lease; empty is the one that the pod runs in.")
	fs.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait for a leader that does not renew.")
	fs.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long a leader tries to renew before it gives up.")
	fs.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "Pause between tries.")

	fs.Float32Var(&o.kubeAPIQPS, "kube-api-qps", 100, "Queries per second to the management cluster.")
	fs.IntVar(&o.kubeAPIBurst, "kube-api-burst", 200, "Queries in one burst to the management cluster.")
	fs.DurationVar(&o.syncPeriod, "sync-period", 10*time.Minute, "How often everything is looked at again without an event.")
	fs.StringVar(&o.healthAddr, "health-addr", ":9440", "Address of the health endpoints.")
	capiflags.AddManagerOptions(fs, &o.diagnostics)
	logsv1.AddFlags(o.logs, fs)
	if f := flag.CommandLine.Lookup("kubeconfig"); f != nil { // controller-runtime's
		fs.AddGoFlag(f)
	}

	fs.IntVar(&o.hostConcurrency, "repavehost-concurrency", 100, "RepaveHosts processed at once.")
	fs.IntVar(&o.machineConcurrency, "repavemachine-concurrency", 100, "RepaveMachines processed at once.")
	fs.IntVar(&o.poolConcurrency, "repavemachinepool-concurrency", 50, "RepaveMachinePools processed at once.")
	fs.IntVar(&o.clusterConcurrency, "repavecluster-concurrency", 50, "RepaveClusters processed at once.")
	fs.IntVar(&o.configConcurrency, "repaveconfig-concurrency", 50, "RepaveConfigs processed at once.")
	fs.IntVar(&o.clusterCacheConcurrency, "clustercache-concurrency", 100, "Workload clusters connected to at once.")
	fs.Float32Var(&o.clusterCacheQPS, "clustercache-client-qps", 20, "Queries per second to a workload cluster.")
	fs.IntVar(&o.clusterCacheBurst, "clustercache-client-burst", 30, "Queries in one burst to a workload cluster.")

	fs.DurationVar(&o.bmcTimeout, "bmc-timeout", 20*time.Second, "Deadline of one call to a BMC.")
	fs.DurationVar(&o.bmcPollInterval, "bmc-poll-interval", 10*time.Minute, "How often an idle BMC is read.")
	limits := lifecycle.DefaultLimits()
	fs.DurationVar(&o.rebootDeadline, "reboot-deadline", limits.Reboot, "How long one attempt of a reboot may take, from its first command to its proof, before the next begins. Role infrastructure.")
	fs.DurationVar(&o.installDeadline, "install-deadline", limits.Install, "How long one attempt of a netboot repave may take, from its first command to its proof, before the next begins. Role infrastructure.")

	fs.StringVar(&o.netbootURL, "netboot-url", "", "URL under which hosts reach the netboot server, for example http://10.0.0.2:8081. Roles infrastructure and netboot.")
	fs.StringVar(&o.netbootListen, "netboot-listen", ":8081", "Address of the netboot server. Role netboot.")
	fs.StringSliceVar(&o.netbootUsers, "netboot-user", nil, "User as which netboot servers ask for the first certificates of hosts, for example system:serviceaccount:repave-system:repave-netboot. Role infrastructure.")
	fs.StringVar(&o.imageDir, "image-dir", "/var/lib/repave/images", "Folder of netboot images. Role netboot.")
	fs.StringVar(&o.agentAPIServer, "agent-api-server", "", "URL of the management cluster as hosts reach it; empty is the one that this process uses, which in a pod hosts can seldom reach. Role netboot.")
	fs.StringVar(&o.orderKeySecret, "order-key-secret", "repave-system/repave-order-key", "namespace/name of the Secret with the key of orders; made when missing. Roles infrastructure and netboot.")
}

// leaderElectionID names the election of a process by the first of its roles, in the order of allRoles: those that share that role
// elect one of them.
func (o *options) leaderElectionID() string {
	for _, role := range allRoles {
		if o.has(role) {
			return "repave-" + role
		}
	}
	return "repave"
}

func (o *options) has(role string) bool { return slices.Contains(o.roles, role) }

// validate refuses what cannot work, before anything is touched.
func (o *options) validate() error {
	var errs []error
	if len(o.roles) == 0 {
		errs = append(errs, errors.New("--roles: name at least one of "+strings.Join(allRoles, ", ")))
	}
	for i, role := range o.roles {
		if slices.Contains(o.roles[:i], role) {
			errs = append(errs, fmt.Errorf("--roles: %s is named twice", role))
		}
		if !slices.Contains(allRoles, role) {
			errs = append(errs, fmt.Errorf("--roles: %q is none of %s", role, strings.Join(allRoles, ", ")))
		}
	}
	if o.has(roleNetboot) && o.netbootURL == "" {
		errs = append(errs, errors.New("--netboot-url: the role netboot needs the URL under which hosts reach it"))
	}
	if o.rebootDeadline <= 0 || o.installDeadline <= 0 {
		errs = append(errs, errors.New("--reboot-deadline, --install-deadline: an attempt needs some time; give durations above 0"))
	}
	if o.installDeadline > maxInstallDeadline {
		errs = append(errs, fmt.Errorf("--install-deadline: at most %s", maxInstallDeadline))
	}
	if _, err := o.orderKeyName(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (o *options) orderKeyName() (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(o.orderKeySecret, "/")
	if !ok || namespace == "" || name == "" {
		return types.NamespacedName{}, fmt.Errorf("--order-key-secret: %q is not namespace/name", o.orderKeySecret)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func concurrency(n int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: n}
}
