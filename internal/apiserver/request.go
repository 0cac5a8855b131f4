package apiserver

import (
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"glasswatch/internal/apiserver/patch"
	"glasswatch/internal/apiserver/resource"
)

// maxBody is the largest request body in bytes, as in a real server.
const maxBody = 3 << 20

// request is one request to a resource.
type request struct {
	*endpoint
	server *Server
	target target
	verb   string
	http   *http.Request
	format format
	header http.Header // of the answer
}

func (r *request) groupResource() schema.GroupResource { return r.GroupResource() }

// Handler answers requests. Background work needs Run.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		mux.HandleFunc(path, serveHealth)
		mux.HandleFunc(path+"/", serveHealth)
	}
	mux.HandleFunc("/version", serveVersion)
	mux.HandleFunc("/version/", serveVersion)
	mux.HandleFunc("/openapi/", s.serveOpenAPI)
	mux.HandleFunc("/", s.serveResource)
	return mux
}

func (s *Server) serveResource(w http.ResponseWriter, req *http.Request) {
	if s.serveDiscovery(w, req) {
		return
	}
	t, ok := parseTarget(req.URL.Path)
	var ep *endpoint
	if ok {
		ep = s.registry.find(t.gv.WithResource(t.resource))
	}
	if ep == nil && ok && s.serveReview(w, req, t) {
		return
	}
	if ep == nil || (ep.Namespaced && t.namespace == "" && t.name != "") || (!ep.Namespaced && t.namespace != "") {
		s.unrouted(w, req)
		return
	}
	r := &request{endpoint: ep, server: s, target: t, verb: verb(req, t), http: req, header: w.Header()}
	if r.acrossNamespaces() {
		plainNotFound(w)
		return
	}
	if err := r.serve(w); err != nil {
		r.writeError(w, err)
	}
}

func (r *request) serve(w http.ResponseWriter) error {
	if r.Custom != nil && r.Custom.Deprecation != "" {
		r.warn([]string{r.Custom.Deprecation})
	}
	if err := r.routed(); err != nil {
		return err
	}
	var err error
	r.format, err = negotiate(r.http.Header.Get("Accept"), r.Custom != nil, r.verb == "watch")
	if err != nil {
		return err
	}
	if err := r.server.faults.before(r.http.Context(), r); err != nil {
		return err
	}
	if r.target.subresource == "scale" {
		return r.scale(w)
	}
	switch r.verb {
	case "get":
		return r.get(w)
	case "list":
		return r.list(w)
	case "watch":
		return r.watch(w)
	case "create":
		return r.create(w)
	case "update":
		return r.update(w)
	case "patch":
		return r.patch(w)
	case "delete":
		return r.delete(w)
	default:
		return r.deleteCollection(w)
	}
}

func (r *request) patcher() *patch.Patcher {
	switch r.target.subresource {
	case "status":
		return r.endpoint.status
	case "scale":
		return r.endpoint.scaled
	}
	return r.endpoint.main
}

// key is where the store keeps the object that the URL names.
func (r *request) key() string { return keyOf(r.target.namespace, r.target.name) }

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// stored returns the object that the URL names, in its stored form, or NotFound.
func (r *request) current() (resource.Object, error) {
	obj := r.server.store.Get(r.table, r.key())
	if obj == nil {
		return nil, apierrors.NewNotFound(r.groupResource(), r.target.name)
	}
	return obj, nil
}

func (r *request) body() ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.http.Body, maxBody+1))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(body) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	}
	return body, nil
}

// decodeQuery reads the URL's query into one of metav1's option types.
func (r *request) decodeQuery(into runtime.Object) error {
	if err := resource.ParameterCodec.DecodeParameters(r.http.URL.Query(), schema.GroupVersion{Version: "v1"}, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

func (r *request) warn(warnings []string) {
	for _, text := range warnings {
		if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			r.header.Add("Warning", header)
		}
	}
}

// statusOf turns any error into the Status that is sent.
func statusOf(err error) *metav1.Status {
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status = known.Status()
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	status.Status = metav1.StatusFailure
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return &status
}
