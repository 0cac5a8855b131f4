package apiserver

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"glasswatch/internal/apiserver/resource"
)

// selection is which objects of a table a list, a watch or a deletion is about.
type selection struct {
	from, to string // range of keys; to "" is open
	labels   labels.Selector
	fields   fields.Selector
	shards   sharding.Selector // nil selects all
	info     *resource.Info
}

func (r *request) selection(opts *metav1.ListOptions) (selection, error) {
	s := selection{info: r.Info}
	if ns := r.target.namespace; ns != "" {
		s.from, s.to = ns+"/", ns+"0" // '0' follows '/'
	}
	var err error
	if s.labels, err = labels.Parse(opts.LabelSelector); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if s.fields, err = fields.ParseSelector(opts.FieldSelector); err != nil {
		return s, apierrors.NewBadRequest(err.Error())
	}
	if s.shards, err = r.server.parseShards(opts.ShardSelector); err != nil {
		return s, err
	}
	if r.verb == "watch" && r.target.name != "" {
		s.fields = fields.AndSelectors(s.fields, fields.OneTermEqualSelector("metadata.name", r.target.name))
	}
	for _, term := range s.fields.Requirements() {
		if !selectable(r.Info, term.Field) {
			if r.Custom != nil || moreFields[r.groupResource().String()] != nil {
				return s, apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", term.Field))
			}
			return s, apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", term.Field))
		}
	}
	return s, nil
}

// everything tells whether no selector is set, so that counts are exact.
func (s selection) everything() bool {
	return s.labels.Empty() && s.fields.Empty() && s.shards == nil
}

func (s selection) holdsKey(key string) bool { return key >= s.from && (s.to == "" || key < s.to) }

// matches looks at the selectors only. A nil object matches nothing.
func (s selection) matches(obj resource.Object) bool {
	if obj == nil {
		return false
	}
	if s.shards != nil {
		if ours, err := s.shards.Matches(obj); err != nil || !ours {
			return false
		}
	}
	return (s.labels.Empty() || s.labels.Matches(labels.Set(obj.GetLabels()))) &&
		(s.fields.Empty() || s.fields.Matches(fieldsOf(s.info, obj)))
}

// listOptions reads and checks the query of a list or a watch.
func (r *request) listOptions() (*metav1.ListOptions, error) {
	opts := &metav1.ListOptions{}
	if err := r.decodeQuery(opts); err != nil {
		return nil, err
	}
	opts.Watch = r.verb == "watch"
	if streamsByDefault(opts) && r.server.faults.streamingLists() {
		initial := true
		opts.SendInitialEvents, opts.ResourceVersionMatch = &initial, metav1.ResourceVersionMatchNotOlderThan
	}
	if errs := validateListOptions(opts, r.server.faults.streamingLists()); len(errs) > 0 {
		return nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", errs)
	}
	return opts, nil
}

// streamsByDefault is about watches that begin with all present objects: a real server treats them as streaming lists.
func streamsByDefault(o *metav1.ListOptions) bool {
	return o.Watch && o.SendInitialEvents == nil && o.ResourceVersionMatch == "" && (o.ResourceVersion == "" || o.ResourceVersion == "0")
}

func validateListOptions(o *metav1.ListOptions, streamingLists bool) field.ErrorList {
	var errs field.ErrorList
	forbid := func(name, message string) {
		errs = append(errs, field.Forbidden(field.NewPath(name), message))
	}
	const matchField, initialField = "resourceVersionMatch", "sendInitialEvents"
	match := o.ResourceVersionMatch
	if o.Watch {
		if o.SendInitialEvents != nil && match != metav1.ResourceVersionMatchNotOlderThan {
			forbid(matchField, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
		}
		if o.SendInitialEvents != nil && !streamingLists {
			forbid(initialField, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		}
		if match != "" && o.SendInitialEvents == nil {
			forbid(matchField, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
		}
		if match != "" && match != metav1.ResourceVersionMatchNotOlderThan {
			errs = append(errs, field.NotSupported(field.NewPath(matchField), match, []string{string(metav1.ResourceVersionMatchNotOlderThan)}))
		}
		if match != "" && o.Continue != "" {
			forbid(matchField, "resourceVersionMatch is forbidden when continue is provided")
		}
		return errs
	}
	if match != "" && o.ResourceVersion == "" {
		forbid(matchField, "resourceVersionMatch is forbidden unless resourceVersion is provided")
	}
	if match != "" && o.Continue != "" {
		forbid(matchField, "resourceVersionMatch is forbidden when continue is provided")
	}
	if match != "" && match != metav1.ResourceVersionMatchExact && match != metav1.ResourceVersionMatchNotOlderThan {
		errs = append(errs, field.NotSupported(field.NewPath(matchField), match, []string{"Exact", "NotOlderThan", ""}))
	}
	if match == metav1.ResourceVersionMatchExact && o.ResourceVersion == "0" {
		forbid(matchField, `resourceVersionMatch "exact" is forbidden for resourceVersion "0"`)
	}
	if o.SendInitialEvents != nil {
		forbid(initialField, "sendInitialEvents is forbidden for list")
	}
	return errs
}
