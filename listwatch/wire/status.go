package wire

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// statusError reads the object as a Status, whatever it says went wrong. An object of another kind is an error.
func (o Object) statusError() (*apierrors.StatusError, error) {
	is := o.TypeMeta
	if o.isJSON {
		if err := utiljson.Unmarshal(o.bytes, &is); err != nil {
			return nil, err
		}
	}
	// The kind first: many kinds have a field named status that is no string.
	if is.Kind != "" && is.Kind != "Status" {
		return nil, fmt.Errorf("a Status was expected, not a %s %s", is.APIVersion, is.Kind)
	}
	status := &metav1.Status{}
	if err := o.Decode(status, nil); err != nil {
		return nil, err
	}
	// An error's text should not be empty, even if the server had nothing to say.
	if status.Message == "" {
		const text = "the server answered with code %d, reason %q and no message"
		status.Message = fmt.Sprintf(text, status.Code, status.Reason)
	}
	return &apierrors.StatusError{ErrStatus: *status}, nil
}

// statusIn returns the failure that body holds, nil if it holds none. The first bytes of body say which format it has:
// a proxy on the way may have set the Content-Type.
func statusIn(body []byte) *apierrors.StatusError {
	object := Object{isJSON: true, bytes: body}
	if bytes.HasPrefix(body, []byte(protobufPrefix)) {
		var err error
		if object, err = openProtobuf(body); err != nil {
			return nil
		}
	}
	status, err := object.statusError()
	if err != nil || status.ErrStatus.Status == metav1.StatusSuccess {
		return nil
	}
	if s := status.ErrStatus; s.Status == "" && s.Reason == "" && s.Code == 0 {
		return nil // some other JSON
	}
	return status
}

// noEvent returns the error of a frame whose event has the type ERROR or none. err is why it could not be read.
func noEvent(typ string, frame []byte, object Object, err error) error {
	if typ == "" {
		if failure := statusIn(frame); failure != nil && failure.ErrStatus.Kind == "Status" {
			return failure // in the place of an event
		}
		return err
	}
	var failure *apierrors.StatusError
	if err == nil {
		failure, err = object.statusError()
	}
	if err != nil {
		err = fmt.Errorf("the watch ended with an ERROR event that cannot be read: %w", err)
		failure = apierrors.NewInternalError(err)
	}
	return failure
}

// maxErrorBody bounds what is read of an answer that is an error, in bytes.
const maxErrorBody = 1 << 20

// ResponseError makes an error of an answer that is not a 200: of the Status in its body, or else of its code and text.
func ResponseError(resp *http.Response, verb string, resource schema.GroupResource) *apierrors.StatusError {
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	retryAfter := retryAfterSeconds(resp.Header.Get("Retry-After"))
	if err := statusIn(body); err != nil {
		status := &err.ErrStatus
		if status.Code == 0 {
			status.Code = int32(resp.StatusCode)
		}
		if status.Details == nil {
			status.Details = &metav1.StatusDetails{}
		}
		if status.Details.RetryAfterSeconds == 0 {
			status.Details.RetryAfterSeconds = int32(retryAfter)
		}
		return err
	}
	const maxText = 2048
	text := string(body[:min(len(body), maxText)])
	if readErr != nil {
		text = fmt.Sprintf("%s (reading on: %v)", text, readErr)
	}
	return apierrors.NewGenericServerResponse(resp.StatusCode, verb, resource, "", text, retryAfter, true)
}

// retryAfterSeconds reads both forms of the header, seconds and a date. It is 0 if there is none or the time has
// passed, and fits into the int32 of a Status.
func retryAfterSeconds(header string) int {
	seconds, err := strconv.Atoi(header)
	if at, dateErr := http.ParseTime(header); err != nil && dateErr == nil {
		seconds = int(math.Ceil(min(time.Until(at).Seconds(), math.MaxInt32)))
	}
	return min(max(seconds, 0), math.MaxInt32)
}
