// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package netboot

import (
	"errors"
	"fmt"
	"strings"

	orderv1 "github.com/repave-io/cluster-api-provider-repave/api/order/v1alpha1"
	"github.com/repave-io/cluster-api-provider-repave/metal/image"
	"github.com/repave-io/cluster-api-provider-repave/metal/order"
)

// localDiskScript leaves the network boot, so that the firmware goes on with its next device.
const localDiskScript = "#!ipxe\nexit\n"

// initrdName is what the kernel calls its initrd. UEFI kernels are told by name which of iPXE's images it is.
const initrdName = "initrd"

// bootable says whether an image can be booted as an installer.
func bootable(image image.Image) error {
	if _, ok := image.Files[image.Metadata.Disk.Path]; !ok {
		return errors.New("the image has no disk")
	}
	cmdline := image.Metadata.Cmdline
	// iPXE expands ${…} and knows no quoting; the operators count as words of their own only.
	if strings.Contains(cmdline, "${") {
		return errors.New("cmdline must not contain ${, which iPXE would expand")
	}
	for word := range strings.FieldsSeq(cmdline) {
		switch {
		case word == "&&" || word == "||" || word == ";":
			return fmt.Errorf("cmdline must not contain the word %s, at which iPXE would end it", word)
		case strings.HasPrefix(word, orderv1.PlanParameter+"="):
			return fmt.Errorf("cmdline must not contain %s: it is given with each order", orderv1.PlanParameter)
		}
	}
	return nil
}

// installerScript boots the installer of the image with the URL of its plan. An image without a kernel is for machines that
// bring their installer with them: they take the parameter from the comment; iPXE leaves to the local disk.
func installerScript(urls order.URLs, image image.Image, plan string) (string, error) {
	if err := bootable(image); err != nil {
		return "", fmt.Errorf("booting image %s: %w", image.Digest, err)
	}
	parameter := orderv1.PlanParameter + "=" + plan
	metadata := image.Metadata
	if metadata.Kernel == "" {
		return "#!ipxe\n# " + parameter + "\nexit\n", nil
	}
	kernel := []string{"kernel", urls.At(imagePath(image.Digest, metadata.Kernel))}
	var initrd string
	if metadata.Initrd != "" {
		kernel = append(kernel, "initrd="+initrdName)
		initrd = fmt.Sprintf("initrd --name %s %s\n", initrdName, urls.At(imagePath(image.Digest, metadata.Initrd)))
	}
	kernel = append(kernel, strings.Fields(metadata.Cmdline)...)
	kernel = append(kernel, parameter)
	return "#!ipxe\n" + strings.Join(kernel, " ") + "\n" + initrd + "boot\n", nil
}
