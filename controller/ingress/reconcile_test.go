package ingress

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const created = "create by glasswatch-ingress"

func applied(uid string) string { return "apply to " + uid + " by glasswatch-ingress, force true" }

// served reconciles until the Service has its Ingress and the cache shows it.
func served(t *testing.T) *bench {
	b := newBench(t)
	b.serviceIs()
	b.expect(created)
	b.cacheCatchesUp()
	b.expect()
	return b
}

func annotated(name, value string) func(*corev1.Service) {
	return func(svc *corev1.Service) { svc.Annotations[name] = value }
}

func TestReconcile_CreatesWhatTheServiceAsksFor(t *testing.T) {
	b := served(t)
	ing := b.server.stored
	yes := true
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: "svc-1",
		Controller: &yes, BlockOwnerDeletion: &yes}}, ing.OwnerReferences)
	require.Equal(t, "nginx", *ing.Spec.IngressClassName)
	require.Len(t, ing.Spec.Rules, 1)
	require.Equal(t, "example.com", ing.Spec.Rules[0].Host)
	path := ing.Spec.Rules[0].HTTP.Paths[0]
	require.Equal(t, "/", path.Path)
	require.Equal(t, networkingv1.PathTypePrefix, *path.PathType)
	require.Equal(t, networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}, *path.Backend.Service)
}

func TestReconcile_WritesNothingWhereNothingIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.expect()
	b.serviceIs(func(svc *corev1.Service) { svc.Annotations = nil })
	b.expect()
	b.serviceIs(annotated("ingress/http", "false"))
	b.expect()
	b.warned()
}

func TestReconcile_EmptyClassIsNeitherSetNorOwned(t *testing.T) {
	b := newBench(t)
	b.r.config.Class = ""
	b.serviceIs()
	b.expect(created)
	require.Nil(t, b.server.stored.Spec.IngressClassName)
	theirs := "theirs"
	b.byHand(func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = &theirs })
	b.expect()
	b.serviceIs(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 })
	b.expect(applied("ing-10"))
	require.Equal(t, "theirs", *b.server.stored.Spec.IngressClassName)
}

func TestReconcile_CorrectsEachOwnedField(t *testing.T) {
	for name, edit := range map[string]func(*networkingv1.Ingress){
		"class":              func(ing *networkingv1.Ingress) { ing.Spec.IngressClassName = nil },
		"host":               func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "x" },
		"port":               func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number = 1 },
		"second rule":        func(ing *networkingv1.Ingress) { ing.Spec.Rules = append(ing.Spec.Rules, ing.Spec.Rules[0]) },
		"no rules":           func(ing *networkingv1.Ingress) { ing.Spec.Rules = nil },
		"blockOwnerDeletion": func(ing *networkingv1.Ingress) { ing.OwnerReferences[0].BlockOwnerDeletion = nil },
		"owner's name":       func(ing *networkingv1.Ingress) { ing.OwnerReferences[0].Name = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			b := served(t)
			b.byHand(edit)
			b.expect(applied("ing-10"))
			b.cacheCatchesUp()
			b.expect()
		})
	}
}

func TestReconcile_LeavesWhatItDoesNotOwn(t *testing.T) {
	b := served(t)
	b.byHand(func(ing *networkingv1.Ingress) {
		ing.Labels = map[string]string{"a": "b"}
		ing.Annotations = map[string]string{"a": "b"}
		ing.Finalizers = []string{"a/b"}
		ing.Spec.TLS = []networkingv1.IngressTLS{{SecretName: "s"}}
		ing.Spec.DefaultBackend = &networkingv1.IngressBackend{}
		ing.OwnerReferences = append(ing.OwnerReferences, metav1.OwnerReference{UID: "another"})
	})
	b.expect()
}

func TestReconcile_DeletesWhatIsNoLongerAskedFor(t *testing.T) {
	for name, mutate := range map[string]func(*corev1.Service){
		"annotation gone":  func(svc *corev1.Service) { svc.Annotations = nil },
		"annotation false": annotated("ingress/http", "false"),
		"ExternalName":     func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeExternalName },
		"ExternalName and no bool": func(svc *corev1.Service) {
			svc.Spec.Type = corev1.ServiceTypeExternalName
			svc.Annotations["ingress/http"] = "maybe"
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := served(t)
			b.serviceIs(mutate)
			b.expect("delete ing-10")
			b.expect("delete ing-10") // the cache lags; the precondition makes it harmless
			b.cacheCatchesUp()
			b.expect()
		})
	}
}

func TestReconcile_DeleteOfWhatIsGoneIsDone(t *testing.T) {
	b := served(t)
	b.serviceIs(annotated("ingress/http", "false"))
	b.server.failures = []error{apierrors.NewNotFound(schema.GroupResource{Resource: "ingresses"}, "web")}
	b.expect("delete ing-10")
}

func TestReconcile_NeverTouchesAStranger(t *testing.T) {
	deployment := func(ing *networkingv1.Ingress) {
		yes := true
		ing.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d", Controller: &yes}}
	}
	orphan := func(ing *networkingv1.Ingress) { ing.OwnerReferences = nil }
	owned := func(ing *networkingv1.Ingress) { // an owner, but not the controller
		ing.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: "svc-1"}}
	}
	made := func(ing *networkingv1.Ingress) { // by another program, which lets the Service control it
		ing.OwnerReferences = []metav1.OwnerReference{desired{owner: owner{"web", "svc-1"}}.ownerReference()}
		ing.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "another"}}
	}
	prefixed := func(ing *networkingv1.Ingress) { // by a controller with another prefix
		made(ing)
		ing.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldManager}, {Manager: FieldManager + "-other"}}
	}
	for name, stranger := range map[string]func(*networkingv1.Ingress){
		"another's": deployment, "orphan": orphan, "owned only": owned, "made by another": made, "another prefix": prefixed,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.byHand(stranger)
			b.serviceIs()
			b.expect()
			b.expect()
			b.warned(ReasonNameConflict)
			b.serviceIs(annotated("ingress/http", "false"))
			b.expect()
			b.warned()
			b.byHand(nil)
			b.serviceIs()
			b.expect(created)
		})
	}
}

// A version before wrote under one name for all prefixes.
func TestReconcile_ClaimsWhatAVersionBeforeMadeIfTheServiceAsksForIt(t *testing.T) {
	b := served(t)
	b.r.config.AnnotationPrefix = "other"
	b.serviceIs()
	b.expect()
	b.serviceIs(annotated("other/http", "true"))
	b.expect("apply to ing-10 by glasswatch-ingress-other, force true")
	b.cacheCatchesUp()
	b.expect()
	b.serviceIs()
	b.expect("delete ing-10")
}

func TestReconcile_WaitsForItsPredecessorWithoutAWord(t *testing.T) {
	b := served(t)
	b.serviceIs(func(svc *corev1.Service) { svc.UID = "svc-2" })
	b.expect()
	b.warned()
	b.byHand(nil) // collected
	b.expect(created)
	require.EqualValues(t, "svc-2", b.server.stored.OwnerReferences[0].UID)
}

func TestReconcile_WritesNothingForWhatIsBeingDeleted(t *testing.T) {
	now := metav1.Now()
	b := served(t)
	b.byHand(func(ing *networkingv1.Ingress) { ing.DeletionTimestamp = &now; ing.Spec.Rules = nil })
	b.expect()
	b.serviceIs(annotated("ingress/http", "false"))
	b.expect()
	b = served(t)
	b.byHand(nil)
	b.serviceIs(func(svc *corev1.Service) { svc.DeletionTimestamp = &now })
	b.expect()
	b.noService()
	b.expect()
	require.Empty(t, b.r.memories.byKey)
}

func TestReconcile_OneEventForEachProblemAndUID(t *testing.T) {
	b := served(t)
	bad := annotated("ingress/http", "maybe")
	b.serviceIs(bad)
	b.expect()
	b.expect() // resync
	b.serviceIs(bad)
	b.expect() // another version with the same problem
	b.warned(ReasonInvalidAnnotation)
	b.serviceIs(annotated("ingress/http", "perhaps"))
	b.expect()
	b.warned(ReasonInvalidAnnotation)
	b.serviceIs(annotated("ingress/host", "no_host"))
	b.expect()
	b.warned(ReasonInvalidHost)
	b.serviceIs(func(svc *corev1.Service) { svc.Spec.Ports = nil })
	b.expect()
	b.warned(ReasonNoTCPPort)
	b.serviceIs(func(svc *corev1.Service) { svc.Spec.Ports = nil; svc.UID = "svc-2" })
	b.expect()
	b.warned(ReasonNoTCPPort)
}

func TestReconcile_AProblemThatLastsOrComesBackIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := served(t)
		for range 2 {
			b.serviceIs(annotated("ingress/http", "maybe"))
			b.expect()
			<-time.After(warnAgain - time.Second)
			b.expect()
			b.warned(ReasonInvalidAnnotation)
			<-time.After(time.Second) // the Event has expired
			b.expect()
			b.warned(ReasonInvalidAnnotation)
			b.serviceIs()
			b.expect()
		}
		b.serviceIs(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeExternalName })
		b.expect("delete ing-10")
		b.cacheCatchesUp()
		b.expect()
		b.warned(ReasonUnsupportedType) // it has no Ingress, as it should, and yet is not well
	})
}

// What the Service asks for is wrong, and the deletion that follows from it is refused: two problems at a time.
func TestReconcile_TwoProblemsAreToldOnceEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := served(t)
		b.serviceIs(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeExternalName })
		for range 5 {
			b.server.failures = []error{apierrors.NewBadRequest("a webhook says no")}
			b.expect("delete ing-10")
			<-time.After(rejectedDelay)
		}
		b.warned(ReasonUnsupportedType, ReasonRejected)
	})
}

func TestReconcile_DoesNotAnswerItsOwnWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.serviceIs()
		b.expect(created)
		require.Equal(t, lookAgainDelay, b.expect().RequeueAfter, "the cache does not show the Ingress yet")
		b.cacheCatchesUp()
		require.Zero(t, b.expect())
		b.byHand(func(ing *networkingv1.Ingress) { ing.Spec.Rules = nil })
		b.expect(applied("ing-10"))
		require.Equal(t, lookAgainDelay, b.expect().RequeueAfter)
		<-time.After(staleCacheLimit)
		b.expect(applied("ing-10")) // versions that went back do not block the key for ever
	})
}

func TestReconcile_LooksAgainForWhatWasUndoneBetweenTwoWatches(t *testing.T) {
	b := newBench(t)
	b.serviceIs()
	require.Equal(t, lookAgainDelay, b.expect(created).RequeueAfter, "no event has to come")
	b.byHand(nil) // the cache has seen neither the creation nor this deletion, only that there is nothing
	b.expect(created)
}

func TestReconcile_ErrorsAreRetriedOrRest(t *testing.T) {
	ingresses := schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}
	for name, err := range map[string]error{
		"conflict":       apierrors.NewConflict(ingresses, "web", errors.New("modified")),
		"already exists": apierrors.NewAlreadyExists(ingresses, "web"),
		"too many":       apierrors.NewTooManyRequests("slow down", 1),
		"internal":       apierrors.NewInternalError(errors.New("x")),
		"forbidden":      apierrors.NewForbidden(ingresses, "web", errors.New("no")),
		"network":        errors.New("connection refused"),
		"no such API":    &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound}},
	} {
		b := newBench(t)
		b.serviceIs()
		b.server.failures = []error{err}
		_, got := b.reconcile()
		require.ErrorIs(t, got, err, name)
		b.wrote(created)
		b.warned()
		b.expect(created)
	}
}

// The reason may be elsewhere: in a policy, or in another Ingress that has the host.
func TestReconcile_WhatIsRejectedIsTriedAgainAfterFiveMinutesOrAChange(t *testing.T) {
	asks, asksNot := annotated("ingress/http", "true"), annotated("ingress/http", "false")
	for name, rejection := range map[string]error{
		"bad request": apierrors.NewBadRequest("what?"), // as by an admission webhook
		"invalid":     apierrors.NewInvalid(schema.GroupKind{Kind: "Ingress"}, "web", nil),
	} {
		for write, begin := range map[string]func(t *testing.T) (*bench, func(*corev1.Service)){
			created:         func(t *testing.T) (*bench, func(*corev1.Service)) { return newBench(t), asks },
			"delete ing-10": func(t *testing.T) (*bench, func(*corev1.Service)) { return served(t), asksNot },
		} {
			t.Run(name+", "+write, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b, input := begin(t)
					b.serviceIs(input)
					for range 13 {
						b.server.failures = []error{rejection}
						require.Equal(t, rejectedDelay, b.expect(write).RequeueAfter)
						<-time.After(rejectedDelay - time.Second)
						require.Equal(t, time.Second, b.expect().RequeueAfter, "of a resync, say")
						<-time.After(time.Second)
					}
					b.warned(ReasonRejected, ReasonRejected) // once more after an hour
					b.server.failures = []error{rejection}
					b.expect(write)
					b.serviceIs(input)
					b.expect(write)
				})
			})
		}
	}
}

func TestReconcile_AForbiddenWriteIsToldWhenItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.serviceIs()
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, "web", errors.New("no"))
		try := func() {
			b.server.failures = []error{forbidden}
			_, err := b.reconcile()
			require.ErrorIs(t, err, forbidden)
		}
		try()
		<-time.After(forbiddenLasts - time.Second)
		try()
		b.warned()
		<-time.After(time.Second)
		try()
		try()
		b.warned(ReasonForbidden)
		b.server.writes = nil
		b.expect(created)
		b.byHand(nil)
		try()
		b.warned()
	})
}

func TestReconcile_ATerminatingNamespaceEndsQuietly(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, "web", errors.New("terminating"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "default")
	for _, err := range []error{terminating, gone} {
		b := newBench(t)
		b.serviceIs()
		b.server.failures = []error{err}
		require.Zero(t, b.expect(created))
		b.warned()
	}
}

func TestReconcile_BacksOffFromAWriterThatKeepsUndoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := served(t)
		undo := func() { b.byHand(func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "theirs" }) }
		for range freeWrites - 1 {
			undo()
			require.Equal(t, lookAgainDelay, b.expect(applied("ing-10")).RequeueAfter)
		}
		b.warned()
		for _, wait := range []time.Duration{time.Second, 2 * time.Second} {
			undo()
			require.Equal(t, wait, b.expect().RequeueAfter)
			require.Equal(t, wait, b.expect().RequeueAfter, "asking again does not help")
			<-time.After(wait)
			b.expect(applied("ing-10"))
		}
		b.warned(ReasonContested)
		undo()
		b.serviceIs(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 })
		b.expect(applied("ing-10")) // what the Service asks for has changed: no contest yet
	})
}

func TestReconcile_UndoneByAdmissionIsTriedAgainSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.server.admit = func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "theirs" }
		b.serviceIs()
		b.server.version = 10
		require.Equal(t, time.Second, b.expect(created).RequeueAfter)
		b.cacheCatchesUp()
		require.Equal(t, time.Second, b.expect(applied("ing-10")).RequeueAfter)
		b.warned()
		wait := time.Second
		for began := time.Now(); time.Since(began) < time.Hour; {
			b.cacheCatchesUp()
			<-time.After(wait)
			wait = b.expect(applied("ing-10")).RequeueAfter
			require.LessOrEqual(t, wait, contestCap)
		}
		b.warned(ReasonContested, ReasonContested) // once more after an hour
	})
}

func TestReconcile_ALongMessageIsCutBetweenCharacters(t *testing.T) {
	b := newBench(t)
	l := attempt{Reconciler: b.r, svc: b.serviceIs(), mem: &memory{}}
	l.warn(t.Context(), &l.mem.asked, &invalidError{ReasonRejected, "x" + strings.Repeat("ü", maxMessage)})
	event := <-b.events.Events
	require.True(t, utf8.ValidString(event), event[len(event)-10:])
	require.LessOrEqual(t, len(event), len("Warning Rejected ")+maxMessage)
}
