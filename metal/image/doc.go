// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image turns a reference to an OCI image pinned by digest into verified files on the local disk, from which
// the netboot server serves.
//
// What enters: a reference (name@sha256:…), credentials for its registry, limits. What leaves: an Image, complete and
// verified, or an Error whose Kind says what a person or a caller can do about it. It must not know hosts, machines,
// orders or the API: the caller says which image, this package says whether it is here.
//
// # Netboot image
//
// A netboot image is an OCI image (or an index with one for the wanted platform) whose layers are tar or tar+gzip.
// Built FROM scratch, it holds in its root a metadata.yaml and the files that names:
//
//	apiVersion: repave.io/netboot-image/v1alpha1
//	disk:
//	  path: disk.img.gz            # path inside the image
//	  sha256: 9f86d0…              # of the file as it is stored, 64 hex digits
//	  compression: gzip            # none | gzip | zstd
//	  size: 10737418240            # bytes of the raw disk, after decompression
//	kernel: vmlinuz                # optional: boot this …
//	initrd: initrd.img             # … with this …
//	cmdline: console=ttyS0         # … and this command line
//	osImage: registry.example/os@sha256:…  # optional: the bootable container image that the disk holds
//
// Unknown and repeated fields are refused. An image without metadata.yaml but with exactly one file in /disk, as
// container disks have it, works as well: the checksum is computed and the compression recognised; a qcow2 disk is
// refused, because an installer writes raw bytes.
//
// Files and hard links are taken, later layers cover and white out earlier ones. Symbolic links, devices, sockets and
// paths out of the image are refused.
//
// # On disk
//
//	images/<digest>/files/<sha256>   the content, each file named by its own checksum
//	images/<digest>/.complete        the file table; without it, or with a file missing or cut, there is no image
//	work/<random>/                   a pull under way; moved to images in one rename once all is on the disk
//	lock                             held shared by every process that uses the store
//
// Names inside an image never become names on the disk, so no image can choose where its bytes go. Layers are
// verified while they are written and hold no second copy; a connection that breaks goes on where it stopped.
// A crash at any point leaves either the whole image or none; what it leaves in work is swept by the next process
// that has the store to itself.
//
// Whoever knows a digest may open the image: credentials guard the registry, not this disk.
package image
