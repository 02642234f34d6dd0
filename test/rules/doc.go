// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules keeps what the rooms of the project hold each other to, as ordinary tests that print the reason: which way
// imports go, what a pure room must not reach for, what every file carries.
//
// What enters are the files of the checkout and what go list says of them; what leaves are failures. Each rule is a function of
// a tree, so that it is also shown a made-up tree that breaks it: a rule that cannot fail keeps nothing.
package rules
