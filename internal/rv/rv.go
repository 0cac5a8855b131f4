// Package rv holds what several layers ask of resourceVersions.
package rv

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// IsOlder reports whether version a is older than b. It is false if they cannot be compared.
func IsOlder(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// Check returns an error if a version cannot be compared with others, so that no watch can begin there.
func Check(version string) error {
	_, err := resourceversion.CompareResourceVersion(version, version)
	return err
}

// IsComparable reports whether a version can be compared with others.
func IsComparable(version string) bool { return Check(version) == nil }

// IsExpired reports whether the server no longer has the version, or the page of a list, that it was asked for.
// Servers and proxies say 410 in two ways: with the reason Expired, and with Gone.
func IsExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// IsAhead reports whether the server does not have the version yet that it was asked for. Servers before 1.18.6 say so
// in words only, in the message of a timeout or in a cause.
func IsAhead(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && apierrors.IsTimeout(err) && strings.Contains(status.ErrStatus.String(), "Too large resource version")
}
