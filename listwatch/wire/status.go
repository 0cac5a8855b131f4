package wire

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StatusError reads the object as a Status, whatever it says went wrong. An object of another kind is an error.
func (o Object) StatusError() (*apierrors.StatusError, error) {
	status := &metav1.Status{}
	if err := o.format.status(o, status); err != nil {
		return nil, err
	}
	// An error's text should not be empty, even if the server had nothing to say.
	if status.Message == "" {
		status.Message = fmt.Sprintf("the server answered with code %d, reason %q and no message", status.Code, status.Reason)
	}
	return &apierrors.StatusError{ErrStatus: *status}, nil
}

// StatusIn returns the failure that body holds, nil if it holds none. The first bytes of body say which format it has:
// a proxy on the way may have set the Content-Type.
func StatusIn(body []byte) *apierrors.StatusError {
	object, err := open(body)
	if err != nil {
		return nil
	}
	status, err := object.StatusError()
	if err != nil || status.ErrStatus.Status == metav1.StatusSuccess {
		return nil
	}
	if s := status.ErrStatus; s.Status == "" && s.Reason == "" && s.Code == 0 {
		return nil // some other JSON
	}
	return status
}

func checkStatus(apiVersion, kind string) error {
	if kind != "" && kind != "Status" {
		return fmt.Errorf("a Status was expected, not a %s %s", apiVersion, kind)
	}
	return nil
}
