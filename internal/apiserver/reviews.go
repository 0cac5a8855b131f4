package apiserver

import (
	"io"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"glasswatch/internal/apiserver/resource"
)

// reviewGroups are served, but hold nothing: a review is created, answered and forgotten.
var reviewGroups = []schema.GroupVersion{authenticationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion}

var reviewKinds = map[schema.GroupVersion][]string{
	authenticationv1.SchemeGroupVersion: {"SelfSubjectReview"},
	authorizationv1.SchemeGroupVersion:  {"SelfSubjectAccessReview", "SubjectAccessReview"},
}

// serveReview answers reviews, by which a client asks for its identity and its rights. Every client may do everything.
// It returns false if the target is not a review.
func (s *Server) serveReview(w http.ResponseWriter, req *http.Request, t target) bool {
	kinds := reviewKinds[t.gv]
	i := slices.IndexFunc(kinds, func(kind string) bool { return strings.ToLower(kind)+"s" == t.resource })
	if i < 0 || t.name != "" || t.namespace != "" {
		return false
	}
	f, err := negotiate(req.Header.Get("Accept"), false, false)
	if err == nil && req.Method != http.MethodPost {
		err = routeError(http.StatusMethodNotAllowed, "")
	}
	var obj runtime.Object
	if err == nil {
		obj, err = review(req, t.gv.WithKind(kinds[i]))
	}
	if err != nil {
		writeStatus(w, req, jsonFormat, err)
		return true
	}
	_ = writeEncoded(w, req, f, http.StatusCreated, obj)
	return true
}

// review reads one and answers it.
func review(req *http.Request, gvk schema.GroupVersionKind) (runtime.Object, error) {
	obj, err := resource.Scheme.New(gvk)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxBody))
	if err == nil {
		_, _, err = resource.Codecs.UniversalDeserializer().Decode(body, &gvk, obj)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	switch o := obj.(type) {
	case *authorizationv1.SelfSubjectAccessReview:
		o.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	case *authorizationv1.SubjectAccessReview:
		o.Status = authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	case *authenticationv1.SelfSubjectReview:
		o.CreationTimestamp = metav1.Now()
		o.Status.UserInfo = authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:masters"}}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}
