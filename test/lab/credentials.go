// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// credentials are all certificates of one lab. etcd has an authority of its own: a client certificate that
// kube-controller-manager signs for a host must not open the store.
type credentials struct {
	cluster *authority
	store   *authority
	admin   pair
	manager pair
}

// newCredentials makes everything and writes what the servers read into the lab's pki folder.
func newCredentials(dir *directory) (*credentials, error) {
	c := &credentials{}
	var err error
	if c.cluster, err = newAuthority("kubernetes-ca"); err != nil {
		return nil, err
	}
	if c.store, err = newAuthority("etcd-ca"); err != nil {
		return nil, err
	}
	for _, holder := range []struct {
		file string
		by   *authority
		identity
		keep *pair
	}{
		{"etcd", c.store, identity{name: "etcd", server: true}, nil},
		{"etcd-client", c.store, identity{name: "kube-apiserver"}, nil},
		{"serving", c.cluster, identity{name: "repave-lab", server: true}, nil},
		{"admin", c.cluster, identity{name: "kubernetes-admin", groups: []string{"system:masters"}}, &c.admin},
		{"kcm", c.cluster, identity{name: "system:kube-controller-manager"}, &c.manager},
	} {
		issued, err := holder.by.issue(holder.identity)
		if err != nil {
			return nil, err
		}
		if err := issued.write(dir.join("pki"), holder.file); err != nil {
			return nil, err
		}
		if holder.keep != nil {
			*holder.keep = issued
		}
	}
	if err := c.cluster.write(dir.join("pki"), "ca"); err != nil {
		return nil, err
	}
	if err := c.store.write(dir.join("pki"), "etcd-ca"); err != nil {
		return nil, err
	}
	private, public, err := serviceAccountKeys()
	if err != nil {
		return nil, err
	}
	return c, pair{cert: public, key: private}.write(dir.join("pki"), "sa")
}

// kubeconfig lets the holder of a pair talk to the API server at the given address.
func (c *credentials) kubeconfig(server string, who pair) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: c.cluster.cert}
	config.AuthInfos["lab"] = &clientcmdapi.AuthInfo{ClientCertificateData: who.cert, ClientKeyData: who.key}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	config.CurrentContext = "lab"
	out, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding kubeconfig: %w", err)
	}
	return out, nil
}

// restConfig is the admin's connection. The limits are far above what a story needs, so that the client never waits.
func (c *credentials) restConfig(server string) *rest.Config {
	return &rest.Config{
		Host:            server,
		QPS:             1000,
		Burst:           2000,
		TLSClientConfig: rest.TLSClientConfig{CAData: c.cluster.cert, CertData: c.admin.cert, KeyData: c.admin.key},
	}
}
