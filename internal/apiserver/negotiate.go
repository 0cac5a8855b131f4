package apiserver

import (
	"mime"
	"net/http"
	"sort"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"glasswatch/internal/apiserver/resource"
)

// format is how an answer is written.
type format struct {
	info   runtime.SerializerInfo
	as     string // "", "Table", "PartialObjectMetadata" or "PartialObjectMetadataList"
	pretty bool
}

const (
	asTable       = "Table"
	asPartial     = "PartialObjectMetadata"
	asPartialList = "PartialObjectMetadataList"
)

var jsonFormat = format{info: serializerFor(runtime.ContentTypeJSON)}

func serializerFor(mediaType string) runtime.SerializerInfo {
	info, _ := runtime.SerializerInfoForMediaType(resource.Codecs.SupportedMediaTypes(), mediaType)
	return info
}

// clause is one element of an Accept header.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

func parseAccept(header string) []clause {
	if strings.TrimSpace(header) == "" {
		header = "*/*"
	}
	var clauses []clause
	for _, part := range strings.Split(header, ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		c := clause{mediaType: mediaType, params: params, quality: 1}
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			c.quality = q
		}
		clauses = append(clauses, c)
	}
	sort.SliceStable(clauses, func(i, j int) bool { return clauses[i].quality > clauses[j].quality })
	return clauses
}

// negotiate picks the first way of answering that the Accept header allows. Custom resources have no protobuf, but their
// Tables and metadata do. YAML does not stream.
func negotiate(accept string, custom, stream bool) (format, error) {
	for _, c := range parseAccept(accept) {
		mediaType := c.mediaType
		if mediaType == "*/*" || mediaType == "application/*" {
			mediaType = runtime.ContentTypeJSON
		}
		info := serializerFor(mediaType)
		as, ok := conversion(c.params)
		switch {
		case info.Serializer == nil || !ok:
		case stream && info.StreamSerializer == nil:
		case custom && as == "" && mediaType == runtime.ContentTypeProtobuf:
		default:
			return format{info: info, as: as, pretty: c.params["pretty"] == "1"}, nil
		}
	}
	if stream {
		return format{}, notAcceptable(streamTypes())
	}
	return format{}, notAcceptable(mediaTypes())
}

// conversion reads as=Table;g=meta.k8s.io;v=v1.
func conversion(params map[string]string) (string, bool) {
	as := params["as"]
	switch as {
	case "":
		return "", true
	case asTable, asPartial, asPartialList:
		return as, params["g"] == metav1.GroupName && params["v"] == "v1"
	}
	return "", false
}

func mediaTypes() []string {
	var types []string
	for _, info := range resource.Codecs.SupportedMediaTypes() {
		types = append(types, info.MediaType)
	}
	return types
}

func streamTypes() []string {
	var types []string
	for _, info := range resource.Codecs.SupportedMediaTypes() {
		if info.StreamSerializer != nil {
			types = append(types, info.MediaType+";stream=watch")
		}
	}
	return types
}

func notAcceptable(types []string) error {
	return notAcceptableError("only the following media types are accepted: " + strings.Join(types, ", "))
}

func notAcceptableError(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotAcceptable,
		Reason:  metav1.StatusReasonNotAcceptable,
		Message: message,
	}}
}
