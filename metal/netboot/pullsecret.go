// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/repave-io/cluster-api-provider-repave/api/infrastructure/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
)

// pullCredentials reads the credentials of an image from the Secret it names in the host's namespace; nil where it names
// none. The Secret is read each time: Secrets are in no cache.
func (f *Fetcher) pullCredentials(ctx context.Context, namespace string, wanted *infrav1.Image) (*image.Credentials, error) {
	if wanted.PullSecretRef == nil {
		return nil, nil
	}
	name := wanted.PullSecretRef.Name
	secret := &corev1.Secret{}
	err := f.APIReader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &secretProblem{infrav1.ReasonImageUnauthorized, name, "does not exist"}
	case apierrors.IsForbidden(err):
		return nil, &secretProblem{infrav1.ReasonSecretForbidden, name, "may not be read: bind the netboot server's Secret role in this namespace"}
	case err != nil:
		return nil, fmt.Errorf("reading pull secret %s: %w", name, err)
	case secret.Type != corev1.SecretTypeDockerConfigJson:
		return nil, &secretProblem{infrav1.ReasonImageUnauthorized, name, "is not of type " + string(corev1.SecretTypeDockerConfigJson)}
	}
	repository, _, _ := strings.Cut(wanted.Ref, "@")
	creds, err := parseDockerConfig(secret.Data[corev1.DockerConfigJsonKey], repository)
	if err != nil {
		return nil, &secretProblem{infrav1.ReasonImageUnauthorized, name, err.Error()}
	}
	return creds, nil
}

// dockerConfig is the content of a Secret of type kubernetes.io/dockerconfigjson.
type dockerConfig struct {
	Auths map[string]dockerAuth `json:"auths"`
}

type dockerAuth struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Auth     string `json:"auth"` // base64 of username:password
}

// parseDockerConfig picks the credentials of the entry that names the repository most closely: its registry, or a path of
// it. Its errors repeat nothing of the content.
func parseDockerConfig(content []byte, repository string) (*image.Credentials, error) {
	var config dockerConfig
	if err := json.Unmarshal(content, &config); err != nil {
		return nil, fmt.Errorf("holds no valid %s", corev1.DockerConfigJsonKey)
	}
	var best string
	var auth dockerAuth
	for key, entry := range config.Auths {
		prefix := registryOf(key)
		if prefix != "" && len(prefix) > len(best) && strings.HasPrefix(repository+"/", prefix+"/") {
			best, auth = prefix, entry
		}
	}
	if best == "" {
		registry, _, _ := strings.Cut(repository, "/")
		return nil, fmt.Errorf("has no entry for registry %s", registry)
	}
	return auth.credentials()
}

func (a dockerAuth) credentials() (*image.Credentials, error) {
	if a.Auth == "" {
		return &image.Credentials{Username: a.Username, Password: a.Password}, nil
	}
	both, err := base64.StdEncoding.DecodeString(a.Auth)
	username, password, ok := strings.Cut(string(both), ":")
	if err != nil || !ok {
		return nil, fmt.Errorf("has an entry whose auth is not base64 of username:password")
	}
	return &image.Credentials{Username: username, Password: password}, nil
}

// registryOf takes the scheme and the API version off a key, as docker login writes them.
func registryOf(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	key = strings.TrimSuffix(key, "/")
	for _, version := range []string{"/v1", "/v2"} {
		key = strings.TrimSuffix(key, version)
	}
	return key
}
