package wire

import "slices"

// table is every check, in the order in which a reader may want them.
func table() []check {
	return slices.Concat(
		paths, formats, discoveries,
		lists, selectors, pages, shards,
		starts, events,
		creations, validation, updates, status, patches, applies,
		deletions, finalizers, garbage, namespacesGroup,
		definitionsGroup, versionsGroup, statefulSets, jobs, kinds, fixedGroup, templates, definedMore,
	)
}
