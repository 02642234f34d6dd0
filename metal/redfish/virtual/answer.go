// Copyright 2026 The Repave Authors.
// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/json"
	"net/http"
	"slices"
)

// resource is one Redfish document.
type resource = map[string]any

// message is one entry of a message registry.
type message struct{ id, text, resolution string }

var (
	malformedJSON    = message{"Base.1.18.MalformedJSON", "The request body submitted was malformed JSON and could not be parsed by the receiving service.", "Ensure that the request body is valid JSON and resubmit the request."}
	invalidAccount   = message{"Base.1.18.ResourceAtUriUnauthorized", "While accessing the resource, the service received an authorization error.", "Ensure that the appropriate access is provided for the service in order for it to access the URI."}
	sessionLimit     = message{"Base.1.18.SessionLimitExceeded", "The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.", "Reduce the number of other sessions before trying to establish the session."}
	resourceMissing  = message{"Base.1.18.ResourceMissingAtURI", "The resource at the URI was not found.", "Place a valid resource at the URI or correct the URI and resubmit the request."}
	notAllowed       = message{"Base.1.18.OperationNotAllowed", "The HTTP method is not allowed on this resource.", "None."}
	unavailable      = message{"Base.1.18.ServiceTemporarilyUnavailable", "The service is temporarily unavailable. Retry in 30 seconds.", "Wait for the indicated retry duration and retry the operation."}
	preconditionLost = message{"Base.1.18.PreconditionFailed", "The ETag supplied did not match the ETag required to change this resource.", "Try the operation again using the appropriate ETag."}
	propertyUnknown  = message{"Base.1.18.PropertyUnknown", "The property is not in the list of valid properties for the resource.", "Remove the unknown property from the request body and resubmit the request."}
	propertyType     = message{"Base.1.18.PropertyValueTypeError", "The value for the property is of a different type than the property can accept.", "Correct the value for the property in the request body and resubmit the request."}
	propertyValue    = message{"Base.1.18.PropertyValueNotInList", "The value for the property is not in the list of acceptable values.", "Choose a value from the enumeration list and resubmit the request."}
	parameterValue   = message{"Base.1.18.ActionParameterValueNotInList", "The value for the action parameter is not in the list of acceptable values.", "Choose a value from the enumeration list and resubmit the request."}
	parameterMissing = message{"Base.1.18.ActionParameterMissing", "The action requires the parameter ResetType to be present in the request body.", "Supply the action with the required parameter in the request body."}
	wrongPowerState  = message{"Base.1.18.OperationFailed", "The requested power control operation cannot be performed in the present power state.", "Check the power state and retry."}
	resetUnderWay    = message{"Base.1.18.ResourceInUse", "The change to the requested resource failed because the resource is in use or in transition.", "Remove the condition and resubmit the request if the operation failed."}
)

// answer sends a document with the headers every Redfish answer carries.
func answer(w http.ResponseWriter, status int, body resource) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("OData-Version", "4.0")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) // a client that hung up is no concern of the service
}

// fail sends an error body with the extended information of a message registry.
func fail(w http.ResponseWriter, status int, m message) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="Redfish"`)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "30")
	}
	answer(w, status, resource{"error": resource{
		"code":    m.id,
		"message": m.text,
		"@Message.ExtendedInfo": []resource{{
			"@odata.type": "#Message.v1_2_1.Message",
			"MessageId":   m.id,
			"Message":     m.text,
			"Severity":    "Critical",
			"Resolution":  m.resolution,
		}},
	}})
}

func link(path string) resource { return resource{"@odata.id": path} }

func links(paths ...string) []resource {
	linked := []resource{}
	for _, path := range slices.Sorted(slices.Values(paths)) {
		linked = append(linked, link(path))
	}
	return linked
}

func collection(path, kind string, members ...string) resource {
	return resource{
		"@odata.id":           path,
		"@odata.type":         "#" + kind + "Collection." + kind + "Collection",
		"Name":                kind + " Collection",
		"Members":             links(members...),
		"Members@odata.count": len(members),
	}
}
