package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"glasswatch/internal/apiserver/resource"
	"glasswatch/internal/apiserver/storage"
)

func (r *request) get(w http.ResponseWriter) error {
	opts := &metav1.GetOptions{}
	if err := r.decodeQuery(opts); err != nil {
		return err
	}
	rev, err := parseRevision(opts.ResourceVersion)
	if err != nil {
		return err
	}
	if err := r.waitFor(rev); err != nil {
		return err
	}
	obj, err := r.current()
	if err != nil {
		return err
	}
	return r.write(w, http.StatusOK, obj)
}

func (r *request) list(w http.ResponseWriter) error {
	opts, err := r.listOptions()
	if err != nil {
		return err
	}
	sel, err := r.selection(opts)
	if err != nil {
		return err
	}
	page, err := r.page(opts, sel)
	if err != nil {
		return err
	}
	list, err := r.shapeList(page.objects, page.meta)
	if err != nil {
		return err
	}
	return writeEncoded(w, r.http, r.format, http.StatusOK, list)
}

type page struct {
	objects []resource.Object
	meta    metav1.ListMeta
}

func (r *request) page(opts *metav1.ListOptions, sel selection) (page, error) {
	tree, rev, from, err := r.picture(opts, sel)
	if err != nil {
		return page{}, err
	}
	limit := opts.Limit
	if opts.ResourceVersion == "0" {
		limit = 0 // answered from the watch cache in a real server, which ignores limits
	}
	p := page{objects: []resource.Object{}, meta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(rev, 10)}}
	if sel.shards != nil {
		p.meta.ShardInfo = &metav1.ShardInfo{Selector: sel.shards.String()}
	}
	last := ""
	for key, obj := range tree.Range(from, sel.to) {
		if !sel.matches(obj) {
			continue
		}
		if limit > 0 && int64(len(p.objects)) == limit {
			p.meta.Continue = encodeContinue(strings.TrimPrefix(last, sel.from)+"\x00", rev)
			if sel.everything() {
				count := tree.Len()
				if sel.to != "" {
					count = tree.Before(sel.to)
				}
				remaining := int64(count - tree.Before(key))
				p.meta.RemainingItemCount = &remaining
			}
			break
		}
		p.objects = append(p.objects, obj)
		last = key
	}
	return p, nil
}

// picture finds the revision that a list is about and the key it starts at.
func (r *request) picture(opts *metav1.ListOptions, sel selection) (tree storage.Tree, rev int64, from string, err error) {
	if opts.Continue != "" {
		return r.nextPicture(opts, sel)
	}
	rev, err = parseRevision(opts.ResourceVersion)
	if err != nil {
		return tree, 0, "", apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if err := r.waitFor(rev); err != nil {
		return tree, 0, "", err
	}
	// the first page at a given revision is exact even if the client did not say so
	exact := opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		(opts.ResourceVersionMatch == "" && opts.Limit > 0 && rev > 0)
	if !exact {
		rev = 0
	}
	tree, rev, err = r.server.store.Snapshot(r.table, rev)
	if expired(err) {
		err = apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return tree, rev, sel.from, err
}

const inconsistentContinue = "The provided continue parameter is too old " +
	"to display a consistent list result. You can start a new list without " +
	"the continue parameter, or use the continue token in this response to " +
	"retrieve the remainder of the results. Continuing with the provided " +
	"token results in an inconsistent list - objects that were created, " +
	"modified, or deleted between the time the first chunk was returned " +
	"and now may show up in the list."

func (r *request) nextPicture(opts *metav1.ListOptions, sel selection) (tree storage.Tree, rev int64, from string, err error) {
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return tree, 0, "", apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	start, rev, err := decodeContinue(opts.Continue)
	if err != nil {
		return tree, 0, "", apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	from = sel.from + start
	if rev < 0 { // go on with what is there now
		rev = 0
	}
	tree, rev, err = r.server.store.Snapshot(r.table, rev)
	if expired(err) {
		gone := apierrors.NewResourceExpired(inconsistentContinue)
		gone.ErrStatus.ListMeta.Continue = encodeContinue(start, -1)
		err = gone
	}
	return tree, rev, from, err
}

func expired(err error) bool {
	var e *storage.ExpiredError
	return errors.As(err, &e)
}

// continueToken has the shape of a real server's. Start is relative to what is listed: a namespace, or all of them.
type continueToken struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

func encodeContinue(start string, rev int64) string {
	token, _ := json.Marshal(continueToken{"meta.k8s.io/v1", rev, start}) // cannot fail
	return base64.RawURLEncoding.EncodeToString(token)
}

func decodeContinue(token string) (start string, rev int64, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", 0, fmt.Errorf("continue key is not valid: %w", err)
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		return "", 0, fmt.Errorf("continue key is not valid: %w", err)
	}
	switch {
	case t.Version != "meta.k8s.io/v1":
		return "", 0, fmt.Errorf("continue key is not valid: server does not recognize this encoded version %v", t.Version)
	case t.Revision == 0:
		return "", 0, errors.New("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return "", 0, errors.New("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
	case path.Clean("/"+t.Start) != "/"+t.Start:
		return "", 0, fmt.Errorf("continue key is not valid: %v", t.Start)
	}
	return t.Start, t.Revision, nil
}

// parseRevision reads a resourceVersion; "" and "0" are 0. Its error is that of gets and watches in a real server: it has no
// code of its own.
func parseRevision(rv string) (int64, error) {
	if rv == "" {
		return 0, nil
	}
	rev, err := strconv.ParseUint(rv, 10, 63)
	if err != nil {
		return 0, field.Invalid(field.NewPath("resourceVersion"), rv, err.Error())
	}
	return int64(rev), nil
}

// waitFor waits for a revision for a limited time; it fails like a watch cache that is not fresh enough.
func (r *request) waitFor(rev int64) error {
	if rev <= r.server.store.Revision() {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.http.Context(), r.server.options.FreshnessTimeout)
	defer cancel()
	if r.server.store.WaitFor(ctx, rev) {
		return nil
	}
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rev, r.server.store.Revision()), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}
