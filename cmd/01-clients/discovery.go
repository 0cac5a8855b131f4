package main

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"glasswatch/cmd/internal/demo"
)

func discoveries(ctx context.Context, d *demo.Demo) {
	chain(ctx, d)
	stale(ctx, d)
}

func chain(ctx context.Context, d *demo.Demo) {
	d.Step("Discovery is a chain of calls: groups, their versions, their resources")
	cfg, tape := demo.Taped(d.Config)
	legacy := demo.Must(discovery.NewDiscoveryClientForConfig(cfg))
	legacy.UseLegacyDiscovery = true
	groups := demo.Must(legacy.ServerGroupsWithContext(ctx))
	versions := 0
	for _, group := range groups.Groups {
		versions += len(group.Versions)
	}
	for _, r := range tape.Requests() {
		d.Sent("%s", r)
	}
	d.Saw("ServerGroups: the group without a name, apps, batch and so on; preferred of apps: %s", preferred(groups, "apps"))
	resources := demo.Must(legacy.ServerResourcesForGroupVersionWithContext(ctx, "apps/v1"))
	d.Sent("%s", tape.Last())
	d.Saw("ServerResourcesForGroupVersion: a list with Deployment in it: %t", kindOf(resources, "deployments") == "Deployment")
	tape.Rewind()
	_, _, err := legacy.ServerGroupsAndResourcesWithContext(ctx)
	demo.Check(err)
	requests, _ := tape.Rewind()
	d.Saw("all of it: two calls for the groups and one for each version: %t", requests == 2+versions)
	_, _, err = demo.Must(discovery.NewDiscoveryClientForConfig(cfg)).ServerGroupsAndResourcesWithContext(ctx)
	demo.Check(err)
	d.Saw("with aggregated discovery, which is the default: %d calls", len(tape.Requests()))
	d.Sent("Accept: %.75s…", tape.Last().Header.Get("Accept"))
	d.Why("each link of the chain can fail alone. The answer then has what the others said, and an error that lists the rest")
}

func preferred(groups *metav1.APIGroupList, name string) string {
	for _, group := range groups.Groups {
		if group.Name == name {
			return group.PreferredVersion.GroupVersion
		}
	}
	return ""
}

func kindOf(list *metav1.APIResourceList, name string) string {
	for _, r := range list.APIResources {
		if r.Name == name {
			return r.Kind
		}
	}
	return ""
}

// definition is of cluster scope; its group has the name of the demo's namespace in it.
func definition(d *demo.Demo) *apiextensionsv1.CustomResourceDefinition {
	gr := schema.GroupResource{Group: d.Namespace + ".example.com", Resource: "lamps"}
	schema := &apiextensionsv1.JSONSchemaProps{Type: "object"}
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: gr.String()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: gr.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: gr.Resource, Kind: "Lamp"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}}}}}
}

type groupLister interface {
	ServerGroups() (*metav1.APIGroupList, error)
}

func stale(ctx context.Context, d *demo.Demo) {
	d.Step("Two caches of discovery, and when each is stale")
	client, lamps, dir := demo.Must(discovery.NewDiscoveryClientForConfig(d.Config)), definition(d), d.TempDir()
	inMemory := memory.NewMemCacheClient(client)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(inMemory)
	onDisk := func() discovery.CachedDiscoveryInterface {
		return demo.Must(disk.NewCachedDiscoveryClientForConfig(d.Config, dir, "", time.Hour)) // as in a new process
	}
	kind, has := schema.GroupKind{Group: lamps.Spec.Group, Kind: "Lamp"}, map[bool]string{true: "has it", false: "lacks it"}
	knows := func(from groupLister) bool { return preferred(demo.Must(from.ServerGroups()), kind.Group) != "" }
	look := func(when string) {
		d.Saw("%-19s server %s, memory %s, disk %s", when+":", has[knows(client)], has[knows(inMemory)], has[knows(onDisk())])
	}
	look("before")
	definitions := demo.Must(apiextensions.NewForConfig(d.Config)).ApiextensionsV1().CustomResourceDefinitions()
	d.Cleanup(func(ctx context.Context) error {
		return demo.Gone(definitions.Delete(ctx, lamps.Name, metav1.DeleteOptions{}))
	})
	demo.Must(definitions.Create(ctx, lamps, metav1.CreateOptions{}))
	demo.Until(ctx, "the kind is served", func() bool { return knows(client) })
	look("defined")
	asked := func(what string, mapper *restmapper.DeferredDiscoveryRESTMapper) {
		_, err := mapper.RESTMapping(kind)
		d.Saw("the RESTMapper over %s finds it: %t", what, err == nil)
	}
	asked("memory", mapper)
	mapper.Reset()
	asked("memory, after Reset", mapper)
	asked("disk, in a new process", restmapper.NewDeferredDiscoveryRESTMapper(onDisk()))
	look("then")
	demo.Check(definitions.Delete(ctx, lamps.Name, metav1.DeleteOptions{}))
	demo.Until(ctx, "the kind is not served", func() bool { return !knows(client) })
	look("definition deleted")
	asked("memory", mapper)
	list := d.Client.Discovery().RESTClient().Get().AbsPath("/apis", kind.Group, "v1", "lamps").Do(ctx).Error()
	d.Saw("the server at that URL: %s", apierrors.ReasonForError(list))
	d.Why("memory is stale until Invalidate, which Reset calls; disk until its files are older than allowed, here an hour. " +
		"A RESTMapper that misses a kind invalidates what another process wrote to disk, and trusts its own process. " +
		"Of kinds that go only a 404 tells")
}
