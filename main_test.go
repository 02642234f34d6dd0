// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// released is the Deployment of a role as a release ships it, with the variables filled in.
func released(t *testing.T, role string, variables map[string]string) appsv1.Deployment {
	t.Helper()
	g := NewWithT(t)
	file := map[string]string{roleBootstrap: "bootstrap"}[role]
	if file == "" {
		file = "infrastructure"
	}
	content, err := os.ReadFile("config/manager/" + file + ".yaml")
	g.Expect(err).NotTo(HaveOccurred())
	variable := regexp.MustCompile(`\$\{(\w+):=([^}]*)\}`)
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		filled := variable.ReplaceAllStringFunc(document, func(found string) string {
			parts := variable.FindStringSubmatch(found)
			if value, set := variables[parts[1]]; set {
				return value
			}
			return parts[2]
		})
		var deployment appsv1.Deployment
		g.Expect(yaml.Unmarshal([]byte(filled), &deployment)).To(Succeed())
		if deployment.Kind == "Deployment" && deployment.Name == "repave-"+role {
			return deployment
		}
	}
	t.Fatalf("no Deployment repave-%s in %s.yaml", role, file)
	return appsv1.Deployment{}
}

// parse reads the arguments of the container as the binary does. The kubelet's part is done here.
func parse(g Gomega, deployment appsv1.Deployment, container corev1.Container) *options {
	var args []string
	for _, arg := range container.Args {
		args = append(args, strings.ReplaceAll(arg, "$(POD_NAMESPACE)", deployment.Namespace))
	}
	o := defaultOptions()
	flags := pflag.NewFlagSet("repave", pflag.ContinueOnError)
	o.addFlags(flags)
	g.Expect(flags.Parse(args)).To(Succeed(), deployment.Name)
	g.Expect(flags.Args()).To(BeEmpty(), deployment.Name)
	return o
}

func TestReleasedArgumentsFitTheFlags(t *testing.T) {
	for _, test := range []struct {
		role      string
		variables map[string]string
		elects    bool
	}{
		{role: roleInfrastructure, elects: true},
		{role: roleBootstrap, elects: true},
		{role: roleNetboot, variables: map[string]string{"REPAVE_NETBOOT_URL": "http://10.0.0.2:8081"}},
	} {
		t.Run(test.role, func(t *testing.T) {
			g := NewWithT(t)
			deployment := released(t, test.role, test.variables)
			container := deployment.Spec.Template.Spec.Containers[0]
			o := parse(g, deployment, container)
			g.Expect(o.validate()).To(Succeed())
			g.Expect(o.roles).To(Equal([]string{test.role}), "each role runs by itself, with permissions of its own")
			g.Expect(o.leaderElect).To(Equal(test.elects))
			g.Expect(o.diagnostics.InsecureDiagnostics).To(BeFalse())
			g.Expect(container.Env).To(ContainElement(HaveField("Name", "POD_NAMESPACE")), "the arguments name it")

			listens := map[string]string{"metrics": o.diagnostics.DiagnosticsAddress, "health": o.healthAddr}
			if test.role == roleNetboot {
				listens["netboot"] = o.netbootListen
			}
			ports := map[string]string{}
			for _, port := range container.Ports {
				ports[port.Name] = net.JoinHostPort("", fmt.Sprint(port.ContainerPort))
			}
			g.Expect(ports).To(Equal(listens))
		})
	}
}

// Both sides of an order name the same things, or no host ever boots.
func TestReleasedRolesAgree(t *testing.T) {
	g := NewWithT(t)
	variables := map[string]string{"REPAVE_NETBOOT_URL": "http://10.0.0.2:8081"}
	infrastructure, netboot := released(t, roleInfrastructure, variables), released(t, roleNetboot, variables)
	asks := parse(g, infrastructure, infrastructure.Spec.Template.Spec.Containers[0])
	answers := parse(g, netboot, netboot.Spec.Template.Spec.Containers[0])
	g.Expect(answers.orderKeySecret).To(Equal(asks.orderKeySecret))
	g.Expect(answers.netbootURL).To(Equal(asks.netbootURL))
	g.Expect(asks.netbootUsers).To(ConsistOf("system:serviceaccount:" + netboot.Namespace + ":" + netboot.Spec.Template.Spec.ServiceAccountName))
	mounts := netboot.Spec.Template.Spec.Containers[0].VolumeMounts
	g.Expect(mounts).To(ContainElement(HaveField("MountPath", answers.imageDir)), "the rest of the container is read-only")
}

// Without a URL, netboot ends at once and says what it wants, instead of serving what no host can reach.
func TestNetbootWithoutURLIsRefused(t *testing.T) {
	g := NewWithT(t)
	deployment := released(t, roleNetboot, nil)
	g.Expect(deployment.Spec.Replicas).To(HaveValue(BeZero()), "so it does not run by default")
	o := parse(g, deployment, deployment.Spec.Template.Spec.Containers[0])
	g.Expect(o.validate()).To(MatchError(ContainSubstring("--netboot-url")))
}

func TestOptionsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no role":        {[]string{"--roles="}, "name at least one"},
		"unknown role":   {[]string{"--roles=kitchen"}, `"kitchen" is none of`},
		"role twice":     {[]string{"--roles=netboot,bootstrap,netboot"}, "netboot is named twice"},
		"no time":        {[]string{"--install-deadline=0s"}, "give durations above 0"},
		"too much time":  {[]string{"--install-deadline=2h"}, "--install-deadline: at most 55m0s"},
		"key without ns": {[]string{"--order-key-secret=key"}, "not namespace/name"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := defaultOptions()
			flags := pflag.NewFlagSet("repave", pflag.ContinueOnError)
			o.addFlags(flags)
			g.Expect(flags.Parse(test.args)).To(Succeed())
			g.Expect(o.validate()).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

// Two processes that share the role of controllers must share their election too, in whatever order their roles are named.
func TestElectionFollowsTheRolesNotTheirOrder(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&options{roles: []string{roleInfrastructure}}).leaderElectionID()).To(Equal("repave-infrastructure"))
	g.Expect((&options{roles: []string{roleBootstrap, roleInfrastructure}}).leaderElectionID()).To(Equal("repave-infrastructure"))
	g.Expect((&options{roles: []string{roleNetboot}}).leaderElectionID()).To(Equal("repave-netboot"))
}
