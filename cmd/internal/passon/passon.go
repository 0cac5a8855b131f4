package passon

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/proxy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Options say what is passed on.
type Options struct {
	CallersOwn bool  // requests go with the caller's credentials
	Writes     bool  // other methods than GET, HEAD and OPTIONS
	Secrets    bool  // Secrets, and tokens of service accounts
	Upgrades   bool  // exec, attach, port-forward, proxy
	MaxBody    int64 // of a request, in bytes
}

// Handler is a http.Handler. Make one with New.
type Handler struct {
	Options
	next  http.Handler
	close func()
}

// New returns a handler that passes on to the server of cfg.
func New(cfg *rest.Config, o Options) (*Handler, error) {
	if o.CallersOwn {
		cfg = rest.AnonymousClientConfig(cfg)
	}
	location, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(location.Path, "/") {
		location.Path += "/" // without a path the handler redirects the caller
	}
	plain, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, err
	}
	connection, upgrade, err := upgradeTransport(cfg)
	if err != nil {
		return nil, err
	}
	h := proxy.NewUpgradeAwareHandler(location, plain, false, false, responder{}) // without a responder it panics
	h.UpgradeTransport = upgrade
	h.UseRequestLocation, h.UseLocationHost, h.AppendLocationPath = true, true, true
	return &Handler{o, h, func() {
		utilnet.CloseIdleConnectionsFor(plain)
		utilnet.CloseIdleConnectionsFor(connection)
	}}, nil
}

// Close lets go of connections.
func (h *Handler) Close() { h.close() }

// upgradeTransport speaks HTTP/1.1, which is what can be upgraded.
func upgradeTransport(cfg *rest.Config) (http.RoundTripper, proxy.UpgradeRequestRoundTripper, error) {
	transportConfig, err := cfg.TransportConfig()
	if err != nil {
		return nil, nil, err
	}
	tls, err := transport.TLSConfigFor(transportConfig)
	if err != nil {
		return nil, nil, err
	}
	connection := utilnet.SetOldTransportDefaults(&http.Transport{TLSClientConfig: tls, DialContext: cfg.Dial})
	headers, err := transport.HTTPWrappersForConfig(transportConfig, proxy.MirrorRequest)
	return connection, proxy.NewUpgradeRequestRoundTripper(connection, headers), err
}

// ServeHTTP passes a request on, or answers with a Status.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.refuses(r); err != nil {
		Fail(w, err)
		return
	}
	if !h.CallersOwn {
		r = r.Clone(r.Context())
		r.Header.Del("Authorization")
		for name := range r.Header {
			if strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") {
				r.Header.Del(name)
			}
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, h.MaxBody)
	h.next.ServeHTTP(w, r)
}

func (h *Handler) refuses(r *http.Request) error {
	isRead := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method)
	t, err := targetOf(r.URL)
	switch {
	case err != nil:
		return err
	case !h.Writes && !isRead:
		return refusal("only reads are passed on")
	case !h.Secrets && IsSecret(t.group, t.resource, t.subresource):
		return ErrSecrets
	case !h.Upgrades && (slices.Contains(executing, t.subresource) || r.Header.Get("Upgrade") != ""):
		return refusal("exec, attach, port-forward, proxy and other upgrades are off")
	}
	return nil
}

// target is what a path of the API server names.
type target struct{ group, resource, subresource string }

// executing are the subresources that run commands. Through proxy one reaches the kubelet, which does.
var executing = []string{"exec", "attach", "portforward", "proxy"}

// IsSecret reports whether an answer shows what opens other doors.
func IsSecret(group, resource, subresource string) bool {
	return group == "" && (resource == "secrets" || resource == "serviceaccounts" && subresource == "token")
}

// ErrSecrets is the answer to those who ask for secrets that are off.
var ErrSecrets = refusal("Secrets and tokens of service accounts are off")

func refusal(why string) error {
	return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(why))
}

// targetOf reads a path as the API server does. It refuses those that two readers may read differently.
func targetOf(u *url.URL) (t target, err error) {
	clean := path.Clean(u.Path)
	if clean != strings.TrimSuffix(u.Path, "/") || strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		return t, apierrors.NewBadRequest("the path is not in its simplest form, which would be " + clean)
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if parts[0] == "apis" && len(parts) > 1 {
		t.group, parts = parts[1], parts[1:]
	}
	parts = parts[min(2, len(parts)):]                                  // behind api/v1 or group/version
	if len(parts) > 0 && (parts[0] == "watch" || parts[0] == "proxy") { // as in old versions of the API
		t.subresource, parts = parts[0], parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	if len(parts) > 0 {
		t.resource = parts[0]
	}
	if len(parts) > 2 && t.subresource == "" {
		t.subresource = parts[2]
	}
	return t, nil
}

// Fail answers as the API server does, for those who talk to it through this program. An error without a status is that
// the API server was not reached.
func Fail(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	status := apierrors.APIStatus(nil)
	switch {
	case errors.As(err, &tooLarge):
		status = apierrors.NewRequestEntityTooLargeError(tooLarge.Error())
	case !errors.As(err, &status):
		status = apierrors.NewServiceUnavailable(err.Error())
	}
	body := status.Status()
	body.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(body.Code))
	_ = json.NewEncoder(w).Encode(body) // the only error is that the caller has gone
}

// responder is Fail as the handler wants it.
type responder struct{}

// Error implements proxy.ErrorResponder.
func (responder) Error(w http.ResponseWriter, _ *http.Request, err error) { Fail(w, err) }
