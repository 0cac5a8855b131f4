// Package install puts glasswatch's informers into client-go's factories.
//
//	factory := informers.NewSharedInformerFactory(client, resync)
//	err := install.Into(factory, install.Options{}, &corev1.Service{}, &corev1.Pod{})
//	factory.Core().V1().Services().Lister() // is client-go's, and reads our store
//
// A factory of client-go keeps the first informer that it gets for a type, of any implementation. It shares, starts,
// waits for and shuts down an installed informer like any other. Types that are not installed keep client-go's
// informers. [NewInformer] makes one informer without a factory. [NewSharedIndexInformer] is for controller-runtime.
//
// # Objects share equal parts
//
// Equal parts of an informer's objects, such as labels and environment of one Deployment's pods, are in memory once.
// client-go still sends the requests. So URL, credentials, rate limit, retries, metrics and the encodings that the config asks for
// are the clientset's. Only the decoding is ours, with [glasswatch/listwatch/memo]:
//
//	client-go's closure ──▶ client-go's REST client ──▶ Transport ──▶ server
//	                                                       │ the answer, if it is protobuf
//	                             store, handlers ◀── memo ◀┘
//
// An informer whose answers do not come like this decodes nothing, and its objects share nothing: on a fake clientset,
// on a wrapper of a clientset, with a config that asks for JSON only, or for a custom type.
//
// # What is guaranteed
//
//   - An informer lists and watches what its closures ask for, and nothing else.
//   - Errors of requests, and of lists and watches that break off, go to the same handlers in the same words, whoever
//     decodes.
//   - A transform may write to all of its object, keep it, or return another. It gets a deep copy, but for the case below,
//     and a field of the object's struct that is equal afterwards is shared again. The transform must not hand its object
//     to another goroutine: the object's struct is written to once more when it has returned.
//   - If the first 64 objects of the first list show that the transform changes metadata only, the later objects of that
//     list are not copied. Does it then change more, fail, or return another object, a warning is logged, and the list is
//     asked for again, with deep copies, before the store gets any of it. So the transform may be called twice for an
//     object of the first list, and see in the first call what it has done to another object. Of what it does below the
//     fields of such a later object, this goes unnoticed: writes that undo each other or that JSON does not show, such
//     as an empty slice for nil, and a part that is taken away, which must not be written to.
//   - With KUBE_CACHE_MUTATION_DETECTOR=true a handler that writes to a shared part ends the program, and the message
//     names the informer.
//   - The environment variable GLASSWATCH_INFORMERS brings client-go's informers back: see [Environment].
//
// # Not guaranteed
//
// [Into] makes its informers at once. So the factory runs every kind that it was given, also one that nothing asks for.
//
// A factory does not export its namespace and its tweak of list options. So repeat in [Options] what you passed to
// WithNamespace and WithTweakListOptions. Dynamic and metadata factories always make their informers themselves.
// [NewDynamicFactory] and [NewMetadataFactory] replace them; their objects share nothing.
//
// A handler must not modify the objects that it gets. client-go says so, too. Here such a handler may change other
// objects as well. The metric rest_client_response_size_bytes counts answers that we decode as empty, and at -v=8
// client-go logs their bodies as empty.
//
// A transform costs a deep copy and a comparison for each object that is copied: about 30 µs for a pod with two
// containers. Options.DisableSharing does without.
//
// What was shared is remembered for as long as the informer is in memory, within the bound of memo.Options: at most
// twice 4 MiB for each informer.
package install
