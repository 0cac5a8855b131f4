package sharedinformer

// Sharing says whether the objects of a [Factory] share their parts: strings, slices, maps and what pointers lead to are
// in memory once, if they are equal. Cached objects are only read, so it makes no difference, except to a handler that
// breaks this rule: it changes other objects, too. The mutation detector names each.
type Sharing uint8

const (
	// SharingDecoded is the default: objects that come as protobuf share what [glasswatch/listwatch/memo] finds, unless
	// Transform may write to it: see FactoryOptions.TransformCopiesOnWrite.
	SharingDecoded Sharing = iota
	// SharingNone: each object has its parts to itself.
	SharingNone
)
