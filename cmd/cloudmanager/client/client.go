// Package client is the typed client of CloudManagers, by client-go's generic one.
package client

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	v1 "glasswatch/cmd/cloudmanager/api/v1"
)

// Client reads and writes the CloudManagers of one namespace.
type Client = gentype.ClientWithList[*v1.CloudManager, *v1.CloudManagerList]

// Clients makes clients that share a connection.
type Clients struct{ rest rest.Interface }

// NewForConfig leaves cfg as it is.
func NewForConfig(cfg *rest.Config) (*Clients, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.GroupVersion, cfg.APIPath = &v1.GroupVersion, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(v1.Scheme).WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	return &Clients{client}, err
}

// In returns the client of a namespace; "" lists those of all.
func (c *Clients) In(namespace string) *Client {
	return gentype.NewClientWithList(v1.Resource.Resource, c.rest, runtime.NewParameterCodec(v1.Scheme), namespace,
		func() *v1.CloudManager { return &v1.CloudManager{} }, func() *v1.CloudManagerList { return &v1.CloudManagerList{} })
}
