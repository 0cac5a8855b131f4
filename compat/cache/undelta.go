package cache

// NewUndeltaStore returns an empty store of objects that keyFunc names, which tells pushFunc of its whole content after each
// change. Writers call it side by side; of two at once, both may be told of the content after both.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}
