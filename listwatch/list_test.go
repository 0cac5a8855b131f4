package listwatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"glasswatch/internal/rv"
	"glasswatch/listwatch/wire"
)

// listOnce lists from a server that sends body to everyone.
func listOnce(t testing.TB, contentType string, body []byte) (*List[*corev1.Service], error) {
	return servicesOf(t, serve(t, answer(contentType, body)), Options{}).List(context.Background(), metav1.ListOptions{})
}

func TestList_ReadsWhatClientGoReads(t *testing.T) {
	remaining := int64(3)
	body := serviceList("9", serviceV1("cart", "5"), serviceV1("till", "6"))
	body.Continue, body.RemainingItemCount = "more", &remaining
	body.Items[0].Labels = map[string]string{"a": "\"quoted\" \\ { [ ü"}
	for _, contentType := range bothTypes {
		t.Run(contentType, func(t *testing.T) {
			cfg := serve(t, answer(contentType, encode(t, contentType, body)))
			ours, err := servicesOf(t, cfg, Options{}).List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			theirs, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
			require.NoError(t, err)
			assert.Equal(t, theirs.ResourceVersion, ours.ResourceVersion)
			assert.Equal(t, theirs.Continue, ours.Continue)
			assert.Equal(t, theirs.RemainingItemCount, ours.RemainingItemCount)
			require.Len(t, ours.Items, len(theirs.Items))
			for i := range theirs.Items {
				assert.Equal(t, &theirs.Items[i], ours.Items[i])
			}
			assert.Empty(t, ours.Bad)
		})
	}
}

func TestList_EmptyIsNoError(t *testing.T) {
	for _, body := range []string{
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`,
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":null}`,
		`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"9"}}`,
		" {\n \"metadata\" : { \"resourceVersion\" : \"9\" } ,\n \"items\" : [ ] } \n",
	} {
		list, err := listOnce(t, jsonType, []byte(body))
		require.NoError(t, err, body)
		assert.Empty(t, list.Items)
		assert.Equal(t, "9", list.ResourceVersion)
	}
	list, err := listOnce(t, protoType, encode(t, protoType, serviceList("9")))
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

func TestList_BadItemCostsOnlyItself(t *testing.T) {
	t.Run("JSON", func(t *testing.T) {
		list, err := listOnce(t, jsonType, []byte(`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
			{"metadata":{"namespace":"shop","name":"a"}},
			{"metadata":{"namespace":"shop","name":"broken","resourceVersion":"4"},"spec":{"ports":"many"}},
			17,
			{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"a-pod"}},
			{"metadata":{"namespace":"shop"}},
			{"metadata":{"namespace":"shop","name":"z"}}]}`))
		require.NoError(t, err)
		assert.Equal(t, []string{"shop/a", "shop/z"}, keysOf(list.Items))
		assert.Equal(t, []string{
			`unreadable object "shop/broken" at resourceVersion 4: json: cannot unmarshal string into Go struct field ServiceSpec.spec.ports of type []v1.ServicePort`,
			`unreadable object of unknown name: json: cannot unmarshal number into Go value of type v1.Service`,
			`unreadable object "shop/a-pod": the object is a v1 Pod, not a v1 Service`,
			`unreadable object of unknown name: the object has no name`,
		}, textOf(list.Bad))
	})
	t.Run("protobuf", func(t *testing.T) {
		good, err := (&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}).Marshal()
		require.NoError(t, err)
		// A spec (field 2) of one byte, which is no message, behind good metadata.
		broken, err := (&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "broken", ResourceVersion: "4"}}).Marshal()
		require.NoError(t, err)
		broken = append(broken, 2<<3|2, 1, 0xff)
		body := listEnvelope(t, "ServiceList", "9", good, broken, []byte{0xff}, nil, good)
		list, err := listOnce(t, protoType, body)
		require.NoError(t, err)
		assert.Equal(t, []string{"shop/a", "shop/a"}, keysOf(list.Items))
		assert.Equal(t, []string{
			`unreadable object "shop/broken" at resourceVersion 4: unexpected EOF`,
			`unreadable object of unknown name: unexpected EOF`,
			`unreadable object of unknown name: the object has no name`,
		}, textOf(list.Bad))
	})
}

// listEnvelope writes a protobuf list of items that no encoder would write.
func listEnvelope(t testing.TB, kind, resourceVersion string, items ...[]byte) []byte {
	listMeta, err := (&metav1.ListMeta{ResourceVersion: resourceVersion}).Marshal()
	require.NoError(t, err)
	raw := append([]byte{fieldListMeta<<3 | 2, byte(len(listMeta))}, listMeta...)
	for _, item := range items {
		require.Less(t, len(item), 128)
		raw = append(append(raw, fieldListItems<<3|2, byte(len(item))), item...)
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	body, err := unknown.Marshal()
	require.NoError(t, err)
	return append([]byte(protobufPrefix), body...)
}

func keysOf[T Object](items []T) (keys []string) {
	for _, item := range items {
		keys = append(keys, KeyOf(item).String())
	}
	return keys
}

func textOf(bad []*ObjectError) (text []string) {
	for _, b := range bad {
		text = append(text, b.Error())
	}
	return text
}

func TestList_RefusesWhatIsNoListOfThatType(t *testing.T) {
	podList := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	status := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "", errors.New("no")).ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	whole := encode(t, protoType, serviceList("9", serviceV1("cart", "5")))
	for _, tc := range []struct {
		name, contentType string
		body              []byte
		says              string
	}{
		{"no resourceVersion, JSON", jsonType, encode(t, jsonType, serviceList("", serviceV1("cart", "5"))), "list services: the list has no resourceVersion"},
		{"no resourceVersion, protobuf", protoType, encode(t, protoType, serviceList("")), "the list has no resourceVersion"},
		{"another list, JSON", jsonType, encode(t, jsonType, podList), "answered with a v1 PodList, not with a list of a v1 Service"},
		{"another list, protobuf", protoType, encode(t, protoType, podList), "answered with a v1 PodList, not with a list of a v1 Service"},
		{"one object, JSON", jsonType, encode(t, jsonType, serviceV1("cart", "5")), "answered with a v1 Service, not with a list"},
		{"one object, protobuf", protoType, encode(t, protoType, serviceV1("cart", "5")), "the server answered with a v1 Service, not"},
		{"table by kind", jsonType, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"rows":[]}`), "answered with a Table"},
		{"table by content type", jsonType + ";as=Table;g=meta.k8s.io;v=v1", []byte(`{}`), "answered with a Table"},
		{"status, JSON", jsonType, encode(t, jsonType, &status), "forbidden"},
		{"status, protobuf", protoType, encode(t, protoType, &status), "forbidden"},
		{"success", jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`), "answered with a Status, not with a list"},
		{"HTML", "text/html", []byte("<html>"), `Content-Type "text/html", which is neither JSON nor Kubernetes protobuf`},
		{"CBOR", "application/cbor", []byte("..."), `"application/cbor", which is neither`},
		{"unreadable content type", "application/;", nil, "cannot be read"},
		{"HTML that claims to be JSON", jsonType, []byte("<html>"), "the list cannot be read"},
		{"nothing", jsonType, nil, "the list cannot be read: unexpected end of JSON input"},
		{"JSON breaks off", jsonType, []byte(`{"metadata":{"resourceVersion":"9"},"items":[{}`), "unexpected end of JSON input"},
		{"an item is no JSON", jsonType, []byte(`{"metadata":{"resourceVersion":"9"},"items":[{nonsense}]}`), "invalid character 'n'"},
		{"JSON goes on", jsonType, []byte(`{"metadata":{"resourceVersion":"9"},"items":[]} {}`), "after top-level value"},
		{"items is no array", jsonType, []byte(`{"metadata":{"resourceVersion":"9"},"items":{}}`), "cannot unmarshal object"},
		{"protobuf breaks off", protoType, whole[:len(whole)-5], "protobuf message is broken: unexpected EOF"},
		{"JSON that claims to be protobuf", protoType, []byte("{}"), "not a Kubernetes protobuf object"},
		{"compressed envelope", protoType, compressedEnvelope(t), `content encoding "gzip"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := listOnce(t, tc.contentType, tc.body)
			require.ErrorContains(t, err, tc.says)
			assert.Nil(t, list)
		})
	}
}

func compressedEnvelope(t testing.TB) []byte {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, ContentEncoding: "gzip"}
	body, err := unknown.Marshal()
	require.NoError(t, err)
	return append([]byte(protobufPrefix), body...)
}

func TestList_BodyThatBreaksOffIsAnError(t *testing.T) {
	body := encode(t, jsonType, serviceList("9", serviceV1("cart", "5")))
	client := servicesOf(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)+1))
		_, _ = w.Write(body)
	})), Options{})
	_, err := client.List(t.Context(), metav1.ListOptions{})
	assert.ErrorContains(t, err, fmt.Sprintf("the answer broke off after %d bytes: unexpected EOF", len(body)))
}

func TestResponseError(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	expired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	slow := apierrors.NewTooManyRequests("slow down", 7).ErrStatus
	slow.TypeMeta = expired.TypeMeta
	for _, tc := range []struct {
		name, contentType, retryAfter string
		code                          int
		body                          []byte
		check                         func(error) bool
		says                          string
		delay                         int
	}{
		{"Status as JSON", jsonType, "", 410, encode(t, jsonType, &expired), apierrors.IsResourceExpired, "too old", 0},
		{"Status as protobuf", protoType, "", 410, encode(t, protoType, &expired), apierrors.IsResourceExpired, "too old", 0},
		{"Status under a wrong content type", "text/plain", "", 410, encode(t, protoType, &expired), apierrors.IsResourceExpired, "too old", 0},
		{"Status without a code", jsonType, "", 410, []byte(`{"kind":"Status","status":"Failure","message":"gone"}`), apierrors.IsGone, "gone", 0},
		{"delay in the Status", jsonType, "30", 429, encode(t, jsonType, &slow), apierrors.IsTooManyRequests, "slow down", 7},
		{"delay in the header", jsonType, "30", 503, []byte(`{"kind":"Status","status":"Failure","reason":"ServiceUnavailable","code":503}`), apierrors.IsServiceUnavailable, "", 30},
		{"text", "text/plain", "2", 429, []byte("too many"), apierrors.IsTooManyRequests, "too many requests", 2},
		{"text 410", "text/plain", "", 410, []byte("gone"), rv.IsExpired, "", 0},
		{"HTML", "text/html", "", 502, []byte("<html>bad gateway"), apierrors.IsInternalError, "bad gateway", 0},
		{"other JSON", jsonType, "", 404, []byte(`{"error":"no such route"}`), apierrors.IsNotFound, "could not find", 0},
		{"nothing", "", "", 401, nil, apierrors.IsUnauthorized, "", 0},
		{"no 200", jsonType, "", 204, nil, func(err error) bool { return err != nil }, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			client := servicesOf(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.contentType)
				if tc.retryAfter != "" {
					w.Header().Set("Retry-After", tc.retryAfter)
				}
				w.WriteHeader(tc.code)
				_, _ = w.Write(tc.body)
			})), Options{})
			_, listErr := client.List(t.Context(), metav1.ListOptions{})
			_, watchErr := client.Watch(t.Context(), metav1.ListOptions{})
			for _, err := range []error{listErr, watchErr} {
				status, ok := errors.AsType[*apierrors.StatusError](err)
				require.True(t, ok, "%v", err)
				assert.True(t, tc.check(err), "%v", err)
				assert.Equal(t, int32(tc.code), status.ErrStatus.Code)
				assert.ErrorContains(t, err, tc.says)
				delay, _ := apierrors.SuggestsClientDelay(err)
				assert.Equal(t, tc.delay, delay)
			}
		})
	}
}

func TestCodecs_ATypeIsTakenAtWhatItSaysAndNoMore(t *testing.T) {
	c := serviceCodec(t)
	for _, tc := range []struct {
		apiVersion, kind string
		want             bool
	}{{"", "", true}, {"v1", "", true}, {"", "Service", true}, {"v1", "Service", true}, {"v2", "", false}, {"", "Pod", false}, {"v2", "Service", false}} {
		_, err := c.decode(protobufObject(t, tc.apiVersion, tc.kind, "\x0a\x03\x0a\x01x"), "")
		assert.Equal(t, tc.want, err == nil, "%+v: %v", tc, err)
		listKind := tc.kind
		if listKind != "" {
			listKind += "List"
		}
		assert.Equal(t, tc.want, c.checkList(metav1.TypeMeta{APIVersion: tc.apiVersion, Kind: listKind}) == nil, "%+v", tc)
	}
}

// protobufObject is an object as an event brings it.
func protobufObject(t *testing.T, apiVersion, kind, raw string) wire.Object {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: []byte(raw)}
	envelope, err := unknown.Marshal()
	require.NoError(t, err)
	_, object, err := asProtobuf.Event(encodeRaw(t, protoType, "ADDED", append([]byte(protobufPrefix), envelope...))[4:])
	require.NoError(t, err)
	return object
}

func TestObjectError_NamesWhatItKnows(t *testing.T) {
	cause := errors.New("why")
	for _, tc := range []struct {
		err  ObjectError
		want string
	}{
		{ObjectError{Err: cause}, `unreadable object of unknown name: why`},
		{ObjectError{Type: Deleted, Key: Key{Name: "node-1"}, Err: cause}, `unreadable DELETED event "node-1": why`},
		{ObjectError{Type: Added, Key: Key{Namespace: "shop", Name: "cart"}, ResourceVersion: "7", Err: cause}, `unreadable ADDED event "shop/cart" at resourceVersion 7: why`},
	} {
		assert.EqualError(t, &tc.err, tc.want)
		assert.ErrorIs(t, &tc.err, cause)
	}
	assert.Equal(t, []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "EventType(9)"},
		slices.Collect(func(yield func(string) bool) {
			for _, typ := range []EventType{Added, Modified, Deleted, Bookmark, 9} {
				yield(typ.String())
			}
		}))
}
