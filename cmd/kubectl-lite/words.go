package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/resource"
)

// conflictAdvice follows the list of fields that other managers own.
const conflictAdvice = `Each of these fields has another manager. There are three ways on:
* take the fields over: apply again with --force-conflicts;
* leave them to their managers: remove them from the file;
* share them: write the values into the file that they have now.`

// lowerKind is how a line of output begins: service, or deployment.apps.
func lowerKind(info *resource.Info) string {
	return strings.ToLower(info.Mapping.GroupVersionKind.GroupKind().String())
}

// sourced says of an error what was being done, and with what file.
func sourced(doing, source string, err error) error {
	if source == "" {
		return err
	}
	text := fmt.Sprintf("error when %s %q: ", doing, source)
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		changed := status.Status()
		changed.Message = text + changed.Message
		return &apierrors.StatusError{ErrStatus: changed}
	}
	return fmt.Errorf("%s%w", text, err)
}

// joined is nil, the one error, or an aggregate.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return utilerrors.NewAggregate(errs)
}

// wordsFor is what stderr gets at the end, in kubectl's words.
func wordsFor(err error) string {
	if aggregate, ok := err.(utilerrors.Aggregate); ok && len(aggregate.Errors()) == 1 {
		err = aggregate.Errors()[0]
	}
	if aggregate, ok := err.(utilerrors.Aggregate); ok {
		var lines strings.Builder
		for _, err := range aggregate.Errors() {
			lines.WriteString(lineFor(err) + "\n")
		}
		return lines.String()
	}
	if text, ok := invalid(err); ok {
		return text + "\n"
	}
	text, ok := serverSaid(err)
	if !ok {
		text = "error: " + strings.TrimPrefix(err.Error(), "error: ")
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

// lineFor is an error among others, where nothing is put before it.
func lineFor(err error) string {
	if text, ok := serverSaid(err); ok {
		return text
	}
	return err.Error()
}

// serverSaid names the reason of a server's answer.
func serverSaid(err error) (string, bool) {
	switch err := err.(type) {
	case apierrors.APIStatus:
		status := err.Status()
		switch status.Reason {
		case "":
			return "Error from server: " + status.Message, true
		case metav1.StatusReasonUnauthorized:
			return fmt.Sprintf("error: You must be logged in to the server (%s)", status.Message), true
		}
		return fmt.Sprintf("Error from server (%s): %s", status.Reason, status.Message), true
	case *url.Error:
		if strings.Contains(err.Err.Error(), "connection refused") {
			host := err.URL
			if server, parseErr := url.Parse(err.URL); parseErr == nil {
				host = server.Host
			}
			return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host), true
		}
		return fmt.Sprintf("Unable to connect to the server: %v", err.Err), true
	}
	return "", false
}

// invalid lists the causes of a refusal for wrong values. Only an error that stands alone is told so.
func invalid(err error) (string, bool) {
	refusal, ok := err.(*apierrors.StatusError)
	if !ok || refusal.ErrStatus.Reason != metav1.StatusReasonInvalid {
		return "", false
	}
	status := refusal.ErrStatus
	details := status.Details
	switch {
	case details == nil && status.Message == "":
		return "The request is invalid", true
	case details == nil, details.Kind == "" && details.Name == "" && len(details.Causes) == 0 && status.Message != "":
		return "The request is invalid: " + status.Message, true
	}
	text := "The request is invalid"
	if details.Kind != "" || details.Name != "" {
		text = fmt.Sprintf("The %s %q is invalid", details.Kind, details.Name)
	}
	var causes []string
	for _, cause := range details.Causes {
		if line := cause.Field + ": " + cause.Message; !slices.Contains(causes, line) {
			causes = append(causes, line)
		}
	}
	switch len(causes) {
	case 0:
		return text, true
	case 1:
		return text + ": " + causes[0], true
	}
	return text + ": \n* " + strings.Join(causes, "\n* "), true
}

// kindRequired refuses a document that does not say what it is. All else is for the server to judge.
type kindRequired struct{}

// ValidateBytes implements resource.ContentValidator.
func (kindRequired) ValidateBytes(data []byte) error {
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	fields, ok := document.(map[string]any)
	if !ok || fields == nil {
		return utilerrors.NewAggregate([]error{errors.New("invalid object to validate")})
	}
	var errs []error
	switch version := fields["apiVersion"].(type) {
	case nil:
		errs = append(errs, errors.New("apiVersion not set"))
	case string:
		if _, err := schema.ParseGroupVersion(version); err != nil {
			errs = append(errs, err)
		}
	default:
		errs = append(errs, errors.New("apiVersion isn't string type"))
	}
	switch fields["kind"].(type) {
	case nil:
		errs = append(errs, errors.New("kind not set"))
	case string:
	default:
		errs = append(errs, errors.New("kind isn't string type"))
	}
	return utilerrors.NewAggregate(errs)
}
