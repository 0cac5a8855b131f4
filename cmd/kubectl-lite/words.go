package main

import (
	"cmp"
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
	aggregate, several := err.(utilerrors.Aggregate)
	if several && len(aggregate.Errors()) == 1 {
		err = aggregate.Errors()[0]
		aggregate, several = err.(utilerrors.Aggregate)
	}
	if several {
		var lines strings.Builder
		for _, err := range aggregate.Errors() {
			lines.WriteString(cmp.Or(serverSaid(err), err.Error()) + "\n")
		}
		return lines.String()
	}
	text := cmp.Or(invalid(err), serverSaid(err), "error: "+strings.TrimPrefix(err.Error(), "error: "))
	return strings.TrimSuffix(text, "\n") + "\n"
}

// serverSaid names the reason of a server's answer. It is empty if the server has not been reached.
func serverSaid(err error) string {
	switch err := err.(type) {
	case apierrors.APIStatus:
		status := err.Status()
		switch status.Reason {
		case "":
			return "Error from server: " + status.Message
		case metav1.StatusReasonUnauthorized:
			return fmt.Sprintf("error: You must be logged in to the server (%s)", status.Message)
		}
		return fmt.Sprintf("Error from server (%s): %s", status.Reason, status.Message)
	case *url.Error:
		if !strings.Contains(err.Err.Error(), "connection refused") {
			return fmt.Sprintf("Unable to connect to the server: %v", err.Err)
		}
		host := err.URL
		if server, parseErr := url.Parse(err.URL); parseErr == nil {
			host = server.Host
		}
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	}
	return ""
}

// invalid lists the causes of a refusal for wrong values; it is empty for other errors. kubectl tells only an error that
// stands alone in this way.
func invalid(err error) string {
	refusal, ok := err.(*apierrors.StatusError)
	if !ok || refusal.ErrStatus.Reason != metav1.StatusReasonInvalid {
		return ""
	}
	details := cmp.Or(refusal.ErrStatus.Details, &metav1.StatusDetails{})
	text := "The request is invalid"
	if details.Kind != "" || details.Name != "" {
		text = fmt.Sprintf("The %s %q is invalid", details.Kind, details.Name)
	} else if message := refusal.ErrStatus.Message; message != "" && len(details.Causes) == 0 {
		text += ": " + message
	}
	var causes []string
	for _, cause := range details.Causes {
		if line := cause.Field + ": " + cause.Message; !slices.Contains(causes, line) {
			causes = append(causes, line)
		}
	}
	switch len(causes) {
	case 0:
		return text
	case 1:
		return text + ": " + causes[0]
	}
	return text + ": \n* " + strings.Join(causes, "\n* ")
}

// kindRequired refuses a document that does not say what it is. All else is for the server to judge.
type kindRequired struct{}

// ValidateBytes implements resource.ContentValidator.
func (kindRequired) ValidateBytes(data []byte) error {
	var document map[string]any
	if json.Unmarshal(data, &document) != nil || document == nil {
		return errors.New("invalid object to validate")
	}
	var errs []error
	for _, field := range []string{"apiVersion", "kind"} {
		switch value := document[field].(type) {
		case nil:
			errs = append(errs, fmt.Errorf("%s not set", field))
		case string:
			if _, err := schema.ParseGroupVersion(value); err != nil && field == "apiVersion" {
				errs = append(errs, err)
			}
		default:
			errs = append(errs, fmt.Errorf("%s isn't string type", field))
		}
	}
	return utilerrors.NewAggregate(errs)
}
