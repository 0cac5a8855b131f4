package deltafifo

import "fmt"

// DeltaType says what happened to an object, or to all of them.
type DeltaType uint8

const (
	// Added: the watch saw the object appear.
	Added DeltaType = iota + 1
	// Updated: the watch saw the object change.
	Updated
	// Deleted: the object is gone. See Delta.Missing and Delta.FinalStateUnknown for how much is known of its end.
	Deleted
	// Replaced: a list showed the object. Whether it changed since it was last seen is unknown. DeltaFIFO only.
	Replaced
	// Sync: nothing happened, the object is to be looked at again. DeltaFIFO only.
	Sync
	// ReplacedAll: a list as one event. Whatever is not in Delta.Bulk is gone. InOrder only.
	ReplacedAll
	// SyncAll: nothing happened, every object is to be looked at again. InOrder only.
	SyncAll
	// Bookmark: no object changed up to Delta.Bulk.ResourceVersion. InOrder only.
	Bookmark
)

// isBulk: the delta is about all objects, not about one. It has no key.
func (t DeltaType) isBulk() bool { return t >= ReplacedAll }

var deltaTypeNames = [...]string{
	Added: "Added", Updated: "Updated", Deleted: "Deleted", Replaced: "Replaced", Sync: "Sync",
	ReplacedAll: "ReplacedAll", SyncAll: "SyncAll", Bookmark: "Bookmark",
}

// String returns the constant's name.
func (t DeltaType) String() string {
	if int(t) < len(deltaTypeNames) && deltaTypeNames[t] != "" {
		return deltaTypeNames[t]
	}
	return fmt.Sprintf("DeltaType(%d)", uint8(t))
}

// Delta is one change: its type and the object's state after it, or, for a Deleted, the last state known.
type Delta[K comparable, T any] struct {
	Type DeltaType
	// Key is what the KeyFunc said of the object as it came, before Transform. Zero for ReplacedAll, SyncAll, Bookmark.
	Key K
	Obj T
	// Missing: this Deleted came without a readable object, and Obj is zero. The consumer uses its store's version.
	Missing bool
	// FinalStateUnknown marks a tombstone: nobody saw the deletion. It was inferred from a list that lacks the object,
	// or from DeleteKey or DeleteUnknown. Obj may be older than the object's last state.
	FinalStateUnknown bool
	// Bulk is set for ReplacedAll and Bookmark, else nil.
	Bulk *Bulk[K, T]
}

// Bulk is what a ReplacedAll or a Bookmark carries. The consumer may keep it.
type Bulk[K comparable, T any] struct {
	ResourceVersion string
	// Items is the list in the server's order, then the keys of Replace's keep. An object whose transform failed is a
	// Keep item at its place. If a key comes twice, the later object counts; Keep items of that key change nothing.
	Items []Item[K, T]
}

// Item is one entry of a list.
type Item[K comparable, T any] struct {
	Key K
	Obj T
	// Keep: the server has the object, but no readable version came. The store keeps its version.
	Keep bool
}
