package cache

// NewUndeltaStore returns an empty store of objects that keyFunc names. It passes its whole content to pushFunc after
// each change. Two concurrent writers may both pass the content after both writes.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}
