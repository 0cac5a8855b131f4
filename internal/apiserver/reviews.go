package apiserver

import (
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// serveReview answers the reviews with which clients ask who they are and what they may do: everybody may do everything.
func (s *Server) serveReview(w http.ResponseWriter, req *http.Request, t target) bool {
	if req.Method != http.MethodPost || t.name != "" {
		return false
	}
	var obj runtime.Object
	gvk := t.gv.WithKind("")
	allowed := authorizationv1.SubjectAccessReviewStatus{Allowed: true}
	user := authenticationv1.UserInfo{Username: "system:anonymous", Groups: []string{"system:masters"}}
	switch t.gv.WithResource(t.resource) {
	case authorizationv1.SchemeGroupVersion.WithResource("selfsubjectaccessreviews"):
		gvk.Kind, obj = "SelfSubjectAccessReview", &authorizationv1.SelfSubjectAccessReview{Status: allowed}
	case authorizationv1.SchemeGroupVersion.WithResource("subjectaccessreviews"):
		gvk.Kind, obj = "SubjectAccessReview", &authorizationv1.SubjectAccessReview{Status: allowed}
	case authenticationv1.SchemeGroupVersion.WithResource("selfsubjectreviews"):
		gvk.Kind = "SelfSubjectReview"
		obj = &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: user}}
	default:
		return false
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	f, err := negotiate(req.Header.Get("Accept"), false, false)
	if err != nil {
		writeStatus(w, req, jsonFormat, err)
		return true
	}
	_ = writeEncoded(w, req, f, http.StatusCreated, obj)
	return true
}
