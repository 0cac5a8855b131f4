package listwatch

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/listwatch/wire"
)

// maxErrorBody bounds what is read of an answer that is an error, in bytes.
const maxErrorBody = 1 << 20

// responseError makes an error of an answer that is not a 200: of the Status in its body, or else of its code and text.
func responseError(resp *http.Response, verb string, resource schema.GroupResource) *apierrors.StatusError {
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	retryAfter := retryAfterSeconds(resp.Header.Get("Retry-After"))
	if err := wire.StatusIn(body); err != nil {
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

// retryAfterSeconds reads both forms of the header, seconds and a date. It is 0 if there is none or the time has passed,
// and fits into the int32 of a Status.
func retryAfterSeconds(header string) int {
	seconds, err := strconv.Atoi(header)
	if at, dateErr := http.ParseTime(header); err != nil && dateErr == nil {
		seconds = int(math.Ceil(min(time.Until(at).Seconds(), math.MaxInt32)))
	}
	return min(max(seconds, 0), math.MaxInt32)
}
