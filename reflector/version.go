package reflector

// noVersion is the resourceVersion of what has none: of a reflector before its first list, and of some events.
const noVersion = ""

// In a request, the API server takes two resourceVersions for something else than a moment of its history.
const (
	latestVersion = ""  // of a list: the latest state
	anyVersion    = "0" // of a list or watch: any state that the server has at hand, such as in its watch cache
)

// isKnown reports whether a version is a moment of the server's history, so that a watch from there misses nothing.
func isKnown(version string) bool { return version != noVersion && version != anyVersion }

// versionFor is the resourceVersion that a state's request asks for. The sink never goes back in time: lists ask for one
// that is not older than what it has. A watch that is not from a known version begins with an Added for each object.
func (r *Reflector[T]) versionFor(state State) string {
	switch {
	case state == Connecting:
		return r.version
	case r.askLatest:
		return latestVersion
	case r.version != noVersion:
		return r.version
	case state == ListingPaged: // the first one: the server's cache will do
		return anyVersion
	default:
		return latestVersion
	}
}

// pageSizeFor is the limit of a paged list. The server's watch cache serves a list at a known version only if it has no
// limit. So that has one only if there is no watch cache. At any version, a watch cache ignores the limit.
func (r *Reflector[T]) pageSizeFor(version string) int64 {
	if r.opts.PageSize == 0 && (r.noWatchCache || !isKnown(version)) {
		return 500
	}
	return r.opts.PageSize
}
