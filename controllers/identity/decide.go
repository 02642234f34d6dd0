// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
)

// longest is the longest life of an agent's certificate: a host that was switched off for a season still speaks afterwards.
const longest = 90 * 24 * time.Hour

// View is all that decides about a request.
type View struct {
	Signer    string
	Requester string // user name that the API server saw
	Groups    []string
	Labelled  bool   // it carries LabelHost
	Order     string // AnnotationOrder
	Usages    []certificatesv1.KeyUsage
	Lifetime  time.Duration // 0: not said
	Decided   bool          // somebody approved or denied it

	// Malformed: the request is not one signed PEM request; what follows is empty then.
	Malformed    bool
	CommonName   string
	Organization []string
	// Extras: it has alternative names, or a subject with more than common name and organization.
	Extras bool

	NetbootUsers []string
	Host         Host
}

// Host is the host that the common name means.
type Host struct {
	Exists, Deleting bool
	Order            string // of the open operation's present attempt; "" for none
	Redeemed         bool   // the plan of that order was handed out
}

// Verdict on a request.
type Verdict string

// The verdicts.
const (
	Ignore  Verdict = "Ignore"
	Approve Verdict = "Approve"
	Deny    Verdict = "Deny"
)

// Decision is what becomes of a request, and why.
type Decision struct {
	Verdict Verdict
	Message string
}

// Decide says what becomes of a request. Whatever claims to be of a host and is not beyond doubt is denied at once: left
// open, another approver could take it for something else.
func Decide(v View) Decision {
	switch {
	case v.Decided || v.Signer != certificatesv1.KubeAPIServerClientSignerName || !v.claimsHost():
		return Decision{Verdict: Ignore}
	case v.Malformed:
		return deny("the request is not one signed certificate request")
	}
	if problem := v.form(); problem != "" {
		return deny("%s", problem)
	}
	switch {
	case !v.Host.Exists:
		return deny("there is no such host")
	case v.Host.Deleting:
		return deny("the host is being deleted")
	case v.Requester == v.CommonName && slices.Contains(v.Groups, infrav1.HostGroup):
		return Decision{Approve, "renewal by the host's own agent"}
	case !slices.Contains(v.NetbootUsers, v.Requester):
		return deny("%s may not ask for the certificate of a host", v.Requester)
	default:
		return first(v)
	}
}

// first decides about the first certificate of an order.
func first(v View) Decision {
	switch {
	case v.Order == "":
		return deny("the request names no order (annotation %s)", infrav1.AnnotationOrder)
	case v.Host.Order == "":
		return deny("no install of the host is open")
	case v.Order != v.Host.Order:
		return deny("order %s is not the current order of the host", v.Order)
	case !v.Host.Redeemed:
		return deny("the plan of order %s was not handed out", v.Order)
	default:
		return Decision{Approve, "first certificate of order " + v.Order}
	}
}

// claimsHost says whether a request is ours to decide.
func (v View) claimsHost() bool {
	return v.Labelled || strings.HasPrefix(v.CommonName, infrav1.HostUserPrefix) || slices.Contains(v.Organization, infrav1.HostGroup)
}

// form says what is wrong with the request itself, or "".
func (v View) form() string {
	_, _, ok := hostOf(v.CommonName)
	switch {
	case !ok:
		return fmt.Sprintf("the common name must be %s<namespace>:<name>", infrav1.HostUserPrefix)
	case !slices.Equal(v.Organization, []string{infrav1.HostGroup}):
		return "the organization must be " + infrav1.HostGroup + " and nothing else"
	case v.Extras:
		return "the request must have no alternative names and no other parts of a subject"
	case !clientOnly(v.Usages):
		return "the usages must be client auth, digital signature and, for RSA keys, key encipherment"
	case v.Lifetime <= 0 || v.Lifetime > longest:
		return fmt.Sprintf("expirationSeconds must be set and at most %d", int64(longest.Seconds()))
	default:
		return ""
	}
}

// clientOnly takes the usages of a TLS client and no others.
func clientOnly(usages []certificatesv1.KeyUsage) bool {
	for _, usage := range usages {
		if usage != certificatesv1.UsageClientAuth && usage != certificatesv1.UsageDigitalSignature && usage != certificatesv1.UsageKeyEncipherment {
			return false
		}
	}
	return slices.Contains(usages, certificatesv1.UsageClientAuth)
}

// hostOf takes the host out of the user name of its agent.
func hostOf(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, infrav1.HostUserPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

func deny(format string, args ...any) Decision {
	return Decision{Verdict: Deny, Message: fmt.Sprintf(format, args...)}
}
