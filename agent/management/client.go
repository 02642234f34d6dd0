// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/repave-io/cluster-api-provider-repave/agent/step"
	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
)

// requestTimeout bounds every request but watches.
const requestTimeout = 30 * time.Second

// Client speaks for one host. It may be used by several goroutines.
type Client struct {
	host      orderv1.Host
	transport *transport
	hosts     *rest.RESTClient
	secrets   *rest.RESTClient
	leases    *rest.RESTClient
	requests  *rest.RESTClient
}

// New makes the client of a host. It speaks to nobody yet.
func New(server orderv1.APIServer, host orderv1.Host, certificate tls.Certificate, userAgent string) (*Client, error) {
	t, err := newTransport(server.CA, certificate)
	if err != nil {
		return nil, err
	}
	c := &Client{host: host, transport: t}
	var errs []error
	for _, each := range []struct {
		to    **rest.RESTClient
		group schema.GroupVersion
		kinds []runtime.Object
	}{
		{&c.hosts, infrav1.GroupVersion, []runtime.Object{&infrav1.RepaveHost{}, &infrav1.RepaveHostList{}}},
		{&c.secrets, corev1.SchemeGroupVersion, []runtime.Object{&corev1.Secret{}}},
		{&c.leases, coordinationv1.SchemeGroupVersion, []runtime.Object{&coordinationv1.Lease{}}},
		{&c.requests, certificatesv1.SchemeGroupVersion, []runtime.Object{&certificatesv1.CertificateSigningRequest{}}},
	} {
		// Only the kinds that are spoken of: whole groups would double the size of the binary.
		scheme := runtime.NewScheme()
		scheme.AddKnownTypes(each.group, each.kinds...)
		metav1.AddToGroupVersion(scheme, each.group)
		var err error
		*each.to, err = restClient(server.URL, each.group, scheme, t, userAgent)
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

func restClient(server string, group schema.GroupVersion, scheme *runtime.Scheme, t *transport, userAgent string) (*rest.RESTClient, error) {
	config := &rest.Config{Host: server, UserAgent: userAgent, WarningHandler: rest.NoWarnings{}, QPS: -1}
	config.GroupVersion = &group
	config.APIPath = "/apis"
	if group.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, &http.Client{Transport: t})
}

// Use goes on with another certificate.
func (c *Client) Use(certificate tls.Certificate) { c.transport.use(certificate) }

// Close drops idle connections.
func (c *Client) Close() { c.transport.close() }

// Host reads the host.
func (c *Client) Host(ctx context.Context) (*infrav1.RepaveHost, error) {
	var host infrav1.RepaveHost
	err := c.hosts.Get().Namespace(c.host.Namespace).Resource("repavehosts").Name(c.host.Name).Timeout(requestTimeout).Do(ctx).Into(&host)
	return &host, err
}

// Watch follows the host from a resource version, for at most the time given.
func (c *Client) Watch(ctx context.Context, resourceVersion string, atMost time.Duration) (watch.Interface, error) {
	return c.hosts.Get().Namespace(c.host.Namespace).Resource("repavehosts").
		Param("watch", "true").
		Param("fieldSelector", fields.OneTermEqualSelector("metadata.name", c.host.Name).String()).
		Param("resourceVersion", resourceVersion).
		Param("allowWatchBookmarks", "true").
		Param("timeoutSeconds", fmt.Sprint(int64(atMost.Seconds()))).
		Watch(ctx)
}

// ApplyStatus applies the agent's part of the host's status. It returns the resource version that the host has with it.
func (c *Client) ApplyStatus(ctx context.Context, agent infrav1.AgentStatus) (resourceVersion string, err error) {
	type status struct {
		Agent infrav1.AgentStatus `json:"agent"`
	}
	body, err := json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]string `json:"metadata"`
		Status          status            `json:"status"`
	}{
		TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: "RepaveHost"},
		Metadata: map[string]string{"name": c.host.Name, "namespace": c.host.Namespace},
		Status:   status{Agent: agent},
	})
	if err != nil {
		return "", fmt.Errorf("encoding status: %w", err)
	}
	var applied infrav1.RepaveHost
	err = c.hosts.Patch(types.ApplyPatchType).Namespace(c.host.Namespace).Resource("repavehosts").Name(c.host.Name).SubResource("status").
		Param("fieldManager", infrav1.AgentFieldOwner).Param("force", "true").
		Timeout(requestTimeout).Body(body).Do(ctx).Into(&applied)
	return applied.ResourceVersion, err
}

// Secret reads the data of a Secret in the namespace of the host. An answer that refuses it wraps step.ErrPullSecret.
func (c *Client) Secret(ctx context.Context, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := c.secrets.Get().Namespace(c.host.Namespace).Resource("secrets").Name(name).Timeout(requestTimeout).Do(ctx).Into(&secret)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("%w: %w", step.ErrPullSecret, err)
	}
	return secret.Data, err
}

// RenewLease says that the agent lives. The Lease is made by the controller; without one the error is NotFound.
func (c *Client) RenewLease(ctx context.Context, holder string, duration time.Duration, now time.Time) error {
	type spec struct {
		HolderIdentity       string           `json:"holderIdentity"`
		LeaseDurationSeconds int32            `json:"leaseDurationSeconds"`
		RenewTime            metav1.MicroTime `json:"renewTime"`
	}
	// A merge patch, so that one request without a read renews it; nobody else writes these fields.
	body, err := json.Marshal(map[string]spec{"spec": {holder, int32(duration.Seconds()), metav1.NewMicroTime(now)}})
	if err != nil {
		return fmt.Errorf("encoding lease: %w", err)
	}
	return c.leases.Patch(types.MergePatchType).Namespace(c.host.Namespace).Resource("leases").Name(infrav1.LeaseName(c.host.Name)).
		Param("fieldManager", infrav1.AgentFieldOwner).
		Timeout(requestTimeout).Body(body).Do(ctx).Error()
}

// CreateRequest asks for a certificate; one that was asked for already under that name is no error.
func (c *Client) CreateRequest(ctx context.Context, request *certificatesv1.CertificateSigningRequest) error {
	request.SetGroupVersionKind(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"))
	err := c.requests.Post().Resource("certificatesigningrequests").Timeout(requestTimeout).Body(request).Do(ctx).Error()
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Request reads a certificate request.
func (c *Client) Request(ctx context.Context, name string) (*certificatesv1.CertificateSigningRequest, error) {
	var request certificatesv1.CertificateSigningRequest
	err := c.requests.Get().Resource("certificatesigningrequests").Name(name).Timeout(requestTimeout).Do(ctx).Into(&request)
	return &request, err
}
