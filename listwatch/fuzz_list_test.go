package listwatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"glasswatch/listwatch/wire"
)

// requireListLikeTheirs: of a list that client-go reads we have each item, in its order; what has no name is in Bad.
func requireListLikeTheirs(t *testing.T, theirs *corev1.ServiceList, ours *List[*corev1.Service], err error) {
	if theirs.ResourceVersion == "" {
		require.ErrorIs(t, err, ErrNoResourceVersion)
		return
	}
	require.NoError(t, err)
	require.Equal(t, theirs.ResourceVersion, ours.ResourceVersion)
	require.Equal(t, theirs.Continue, ours.Continue)
	require.Equal(t, theirs.RemainingItemCount, ours.RemainingItemCount)
	nameless := 0
	named := []*corev1.Service{}
	for i := range theirs.Items {
		theirs.Items[i].TypeMeta = metav1.TypeMeta{}
		if theirs.Items[i].Name == "" {
			nameless++
			continue
		}
		named = append(named, &theirs.Items[i])
	}
	require.Len(t, ours.Bad, nameless)
	require.True(t, apiequality.Semantic.DeepEqual(named, ours.Items), "%v\n%v", named, ours.Items)
}

// requireSoundList: whatever a list was made of, its items have names, and what could not be read says why.
func requireSoundList(t *testing.T, list *List[*corev1.Service]) {
	require.NotEmpty(t, list.ResourceVersion)
	for _, item := range list.Items {
		require.NotEmpty(t, item.Name)
	}
	for _, bad := range list.Bad {
		require.NotEmpty(t, bad.Err.Error())
		require.True(t, bad.Key == Key{} || bad.Key.Name != "", "half a key: %v", bad.Key)
	}
}

// fuzzList decodes body as a list of services, as our codecs do and as client-go's do.
func fuzzList(t *testing.T, format wire.Format, body []byte) {
	ours, err := decodeList(format, serviceCodec(t), body)
	if err == nil {
		requireSoundList(t, ours)
	} else {
		require.Nil(t, ours)
		require.NotEmpty(t, err.Error())
	}
	info := serializerInfo(t, runtime.ContentTypeJSON)
	if format == asProtobuf {
		info = serializerInfo(t, runtime.ContentTypeProtobuf)
	}
	decoded, gvk, theirErr := info.Serializer.Decode(body, nil, nil)
	theirs, ok := decoded.(*corev1.ServiceList)
	if theirErr == nil && ok && gvk.Version == "v1" && !strangeOnPurpose(format, body, err) {
		requireListLikeTheirs(t, theirs, ours, err)
	}
}

// strangeOnPurpose: what client-go reads and we do not, or in another way.
func strangeOnPurpose(format wire.Format, body []byte, err error) bool {
	// client-go would take compressed bytes for those of an object, and reads groups without an end and numbers that overflow.
	if err != nil && (strings.Contains(err.Error(), "content encoding") || strings.Contains(err.Error(), "protobuf message is broken")) {
		return true
	}
	if parts, _ := format.List(body); parts.APIVersion == "/v1" {
		return true // client-go takes that version for v1
	}
	isJSON := format == asJSON
	return isJSON && strangeJSON(body)
}

// strangeJSON: of two members of one name encoding/json merges the values in its own way, and client-go finds out with it
// what an object is, which does not mind capitals.
func strangeJSON(data []byte) bool {
	for _, name := range typeNames.FindAll(data, -1) {
		if string(name) != `"apiVersion"` && string(name) != `"kind"` {
			return true
		}
	}
	return namesTwice(data)
}

var typeNames = regexp.MustCompile(`(?i)"(apiversion|kind)"`)

// namesTwice reports whether some object within data has two members of one name.
func namesTwice(data []byte) bool {
	names := []map[string]bool{} // of the objects that are open; nil is an array
	decoder := json.NewDecoder(bytes.NewReader(data))
	wantName := false
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		inObject := len(names) > 0 && names[len(names)-1] != nil
		switch token {
		case json.Delim('{'):
			names, wantName = append(names, map[string]bool{}), true
			continue
		case json.Delim('['):
			names, wantName = append(names, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			names = names[:len(names)-1]
		default:
			if name, ok := token.(string); ok && wantName && inObject {
				if names[len(names)-1][name] {
					return true
				}
				names[len(names)-1][name], wantName = true, false
				continue
			}
		}
		wantName = len(names) > 0 && names[len(names)-1] != nil
	}
}

func TestNamesTwice_LooksIntoEveryObject(t *testing.T) {
	for data, want := range map[string]bool{
		`{"a":1,"b":{"a":2}}`: false, `{"a":1,"a":2}`: true, `[{"a":"a","b":"a"},{"a":1}]`: false, `{"a":[{"b":1,"b":2}]}`: true,
		`{"a":{"b":1},"c":{},"c":1}`: true, `{"a":["a","a"],"b":["a"]}`: false, ``: false, `{"a":`: false,
	} {
		require.Equal(t, want, namesTwice([]byte(data)), data)
	}
}

// seedLists gives f lists, whole and mutilated.
func seedLists(f *testing.F, contentType string) {
	remaining := int64(7)
	page := serviceList("9", serviceV1("a", "1"), serviceV1("", "2"), serviceV1("b", "3"))
	page.Continue, page.RemainingItemCount = "token", &remaining
	whole := encode(f, contentType, page)
	f.Add(whole)
	for _, cut := range []int{0, 4, 9, len(whole) / 2, len(whole) - 1} {
		f.Add(whole[:cut])
	}
	f.Add(encode(f, contentType, serviceList("9")))
	f.Add(encode(f, contentType, serviceList("", serviceV1("a", "1"))))
	f.Add(encode(f, contentType, serviceV1("a", "1")))
	f.Add(encode(f, contentType, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}))
	f.Add(encode(f, contentType, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 410, Reason: "Expired"}))
	f.Add(slices.Concat(whole, whole))
}

func FuzzJSONList(f *testing.F) {
	seedLists(f, jsonType)
	f.Add([]byte(`{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":null}`))
	f.Add([]byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"rows":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) { fuzzList(t, asJSON, body) })
}

func FuzzProtobufList(f *testing.F) {
	seedLists(f, protoType)
	f.Fuzz(func(t *testing.T, body []byte) { fuzzList(t, asProtobuf, body) })
}

// FuzzListItem puts an item of any bytes between two good ones: those are in the list, whatever is in it.
func FuzzListItem(f *testing.F) {
	raw, err := serviceV1("cart", "5").Marshal()
	require.NoError(f, err)
	f.Add(raw)
	f.Add(raw[:len(raw)-2])
	for _, item := range []string{`{"metadata":{"name":"cart"}}`, `{}`, `null`, `3`, `"x"`, `[]`, `{"metadata":7}`, `{"metadata":{"name":"x","namespace":[]}}`,
		`{"metadata":{"name":"x"},"spec":{"ports":"many"}}`, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}`, "{}\x00", "\xff", "[[[[[[", `{"a":"\ud800"}`, ""} {
		f.Add([]byte(item))
	}
	f.Fuzz(func(t *testing.T, item []byte) {
		requireNeighbours := func(format wire.Format, body []byte) {
			list, err := decodeList(format, serviceCodec(t), body)
			require.NoError(t, err)
			requireSoundList(t, list)
			require.Equal(t, 3, len(list.Items)+len(list.Bad))
			require.Equal(t, "first", list.Items[0].Name)
			require.Equal(t, "last", list.Items[len(list.Items)-1].Name)
		}
		requireNeighbours(asProtobuf, protobufListAround(t, item))
		if json.Valid(item) {
			body := slices.Concat([]byte(`{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"first"}},`), item, []byte(`,{"metadata":{"name":"last"}}]}`))
			requireNeighbours(asJSON, body)
		}
	})
}

// protobufListAround is a list of three items, the middle one of which is given as it is on the wire.
func protobufListAround(t *testing.T, item []byte) []byte {
	field := func(number byte, value []byte) []byte {
		var out bytes.Buffer
		out.WriteByte(number<<3 | 2)
		for n := uint64(len(value)); ; n >>= 7 {
			if n < 0x80 {
				out.WriteByte(byte(n))
				break
			}
			out.WriteByte(byte(n) | 0x80)
		}
		out.Write(value)
		return out.Bytes()
	}
	marshal := func(message interface{ Marshal() ([]byte, error) }) []byte {
		data, err := message.Marshal()
		require.NoError(t, err)
		return data
	}
	raw := slices.Concat(
		field(fieldListMeta, marshal(&metav1.ListMeta{ResourceVersion: "9"})),
		field(fieldListItems, marshal(serviceV1("first", "1"))),
		field(fieldListItems, item),
		field(fieldListItems, marshal(serviceV1("last", "2"))))
	envelope := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ServiceList"}, Raw: raw}
	return append([]byte(protobufPrefix), marshal(envelope)...)
}

// canned answers every request alike.
type canned struct {
	code        int
	contentType string
	body        []byte
}

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: c.code, Status: http.StatusText(c.code), Header: http.Header{"Content-Type": {c.contentType}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(c.body)), ContentLength: 1 << 32, // a length is a claim
	}, nil
}

// FuzzAnswer gives the same answer to our client and to client-go's: ours reads every list that theirs does, and both
// make the same error of one.
func FuzzAnswer(f *testing.F) {
	gone := encode(f, jsonType, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 410, Reason: "Expired", Message: "too old"})
	goneProto := encode(f, protoType, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 410, Reason: "Expired", Message: "too old"})
	lists := [][]byte{encode(f, jsonType, serviceList("9", serviceV1("a", "1"))), encode(f, protoType, serviceList("9", serviceV1("a", "1")))}
	for _, contentType := range append(slices.Clone(bothTypes), "", "text/html", "application/json;as=Table", "application/yaml", ";", "application/json; charset=\xff") {
		for _, list := range lists {
			f.Add(200, contentType, list)
		}
		f.Add(410, contentType, gone)
		f.Add(410, contentType, goneProto)
		f.Add(200, contentType, gone)
		f.Add(503, contentType, []byte("<html>the proxy is tired</html>"))
	}
	f.Add(429, jsonType, []byte(`{"kind":"Status","details":{"retryAfterSeconds":-5}}`))
	f.Add(403, jsonType, []byte(`{"kind":"Status","status":"Success"}`))
	f.Add(500, jsonType, []byte(`{"kind":"Status","apiVersion":"v1","status":3}`))
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte) {
		code = 200 + max(0, code-200)%400
		cfg := &rest.Config{Host: "http://canned", Transport: canned{code, contentType, body}, QPS: -1, WarningHandler: rest.NoWarnings{}}
		ours, err := servicesOf(t, cfg, Options{}).List(context.Background(), metav1.ListOptions{})
		if code != http.StatusOK {
			requireStatus(t, code, err)
		}
		clientset, configErr := kubernetes.NewForConfig(cfg)
		require.NoError(t, configErr)
		theirs, theirErr := clientset.CoreV1().Services("").List(context.Background(), metav1.ListOptions{})
		_, formatErr := wire.FormatOf(contentType)
		switch {
		case code == http.StatusOK && contentType == "" && bytes.HasPrefix(body, []byte(protobufPrefix)): // theirs looks at the bytes
		case code == http.StatusOK && theirErr == nil && formatErr == nil && !strangeJSON(body):
			// Theirs takes more than ours: any kind of list, any content encoding, groups without an end.
			if err == nil || slices.ContainsFunc(lists, func(list []byte) bool { return bytes.Equal(list, body) }) {
				requireListLikeTheirs(t, theirs, ours, err)
			}
		case code == http.StatusOK && formatErr != nil:
			require.Error(t, err)
			require.True(t, strings.Contains(err.Error(), "Table") || strings.Contains(err.Error(), "Content-Type"), "%v", err)
		}
	})
}

// requireStatus: an answer that is no 200 is an error with a code and a message, even if the body says that all is well.
func requireStatus(t *testing.T, code int, err error) {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	require.True(t, ok, "%v", err)
	require.NotEqual(t, metav1.StatusSuccess, status.ErrStatus.Status)
	require.NotZero(t, status.ErrStatus.Code)
	require.NotEmpty(t, status.Error())
}

// FuzzBothSelectors: the selector of a client and that of a call are both obeyed.
func FuzzBothSelectors(f *testing.F) {
	selectors := []string{"", " ", "a", "!a", "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b)", "a>1", "a=", "a=b,c=d", "a=b,", `metadata.name=x\,y`, `a=b\\`, "in in (in)", "a = b "}
	for i, a := range selectors {
		f.Add(a, selectors[(i+5)%len(selectors)], "a", "b")
	}
	f.Fuzz(func(t *testing.T, a, b, name, value string) {
		if strings.ContainsRune(a, 0) {
			_, err := NewForConfig[*corev1.Service](&rest.Config{Host: "http://none"}, servicesGVR, Options{LabelSelector: a})
			require.ErrorContains(t, err, "label selector")
			return
		}
		if strings.ContainsRune(b, 0) {
			return // of a call: the server refuses a comma with nothing behind it
		}
		both := bothSelectors(a, b, labelSpace)
		la, errA := labels.Parse(a)
		lb, errB := labels.Parse(b)
		if errA == nil && errB == nil {
			joined, err := labels.Parse(both)
			require.NoError(t, err, "%q", both)
			for _, set := range []labels.Set{{}, {name: value}, {"a": "b", name: value}} {
				require.Equal(t, la.Matches(set) && lb.Matches(set), joined.Matches(set), "%q on %v", both, set)
			}
		}
		fa, errA := fields.ParseSelector(a)
		fb, errB := fields.ParseSelector(b)
		both = bothSelectors(a, b, "")
		if errA == nil && errB == nil {
			joined, err := fields.ParseSelector(both)
			require.NoError(t, err, "%q", both)
			for _, set := range []fields.Set{{}, {name: value}, {"a": "b", name: value}} {
				require.Equal(t, fa.Matches(set) && fb.Matches(set), joined.Matches(set), "%q on %v", both, set)
			}
		}
	})
}
