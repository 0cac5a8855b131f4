package cache

// UndeltaStore is a Store that tells PushFunc of its whole content after each change. Writers call PushFunc side by side;
// of two at once, both may be given the content after both.
type UndeltaStore struct {
	Store
	PushFunc func([]any)
}

// NewUndeltaStore returns an empty store of objects that keyFunc names.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// Add stores obj and tells PushFunc, unless there is an error.
func (u *UndeltaStore) Add(obj any) error { return u.push(u.Store.Add(obj)) }

// Update stores obj and tells PushFunc, unless there is an error.
func (u *UndeltaStore) Update(obj any) error { return u.push(u.Store.Update(obj)) }

// Delete removes what has obj's key and tells PushFunc, unless there is an error.
func (u *UndeltaStore) Delete(obj any) error { return u.push(u.Store.Delete(obj)) }

// Replace makes list the whole content and tells PushFunc, unless there is an error.
func (u *UndeltaStore) Replace(list []any, resourceVersion string) error {
	return u.push(u.Store.Replace(list, resourceVersion))
}

func (u *UndeltaStore) push(err error) error {
	if err == nil {
		u.PushFunc(u.Store.List())
	}
	return err
}
