// Written by `npm run generate` from schemas/crds/*.yaml. Edit the YAML instead.

/** Of AdminPolicyBasedExternalRoute, as version v1 stores it. */
export interface AdminPolicyBasedExternalRouteFields {
  readonly spec: {
    readonly from: {
      readonly namespaceSelector: {
        readonly matchExpressions?: readonly {
          readonly key: string;
          readonly operator: string;
          readonly values?: readonly string[];
        }[];
        readonly matchLabels?: Readonly<Record<string, string>>;
      };
    };
    readonly nextHops: {
      readonly static?: readonly {
        readonly ip: string;
        readonly bfdEnabled?: boolean;
      }[];
      readonly dynamic?: readonly {
        readonly podSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
        readonly namespaceSelector?: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
        readonly networkAttachmentName?: string;
        readonly bfdEnabled?: boolean;
      }[];
    };
  };
  readonly status?: {
    readonly lastTransitionTime: string;
    readonly messages: readonly string[];
    readonly status: string;
  };
}

/** Of ClusterNetworkConnect, as version v1 stores it. */
export interface ClusterNetworkConnectFields {
  readonly spec: {
    readonly networkSelectors: readonly {
      readonly networkSelectionType: 'DefaultNetwork' | 'ClusterUserDefinedNetworks' | 'PrimaryUserDefinedNetworks' | 'SecondaryUserDefinedNetworks' | 'NetworkAttachmentDefinitions';
      readonly clusterUserDefinedNetworkSelector?: {
        readonly networkSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
      readonly primaryUserDefinedNetworkSelector?: {
        readonly namespaceSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
      readonly secondaryUserDefinedNetworkSelector?: {
        readonly namespaceSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
        readonly networkSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
      readonly networkAttachmentDefinitionSelector?: {
        readonly namespaceSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
        readonly networkSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
    }[];
    readonly connectSubnets: readonly {
      readonly cidr: string;
      readonly networkPrefix: number;
    }[];
    readonly connectivity?: readonly ('PodNetwork' | 'ServiceNetwork' | 'ClusterIPServiceNetwork')[];
    readonly connectivityEnabled?: readonly ('PodNetwork' | 'ServiceNetwork' | 'ClusterIPServiceNetwork')[];
  };
  readonly status?: {
    readonly status?: 'Success' | 'Failure';
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
    readonly tunnelKey?: number;
    readonly networks?: number;
    readonly nodes?: string;
    readonly reason?: string;
  };
}

/** Of ClusterUserDefinedNetwork, as version v1 stores it. */
export interface ClusterUserDefinedNetworkFields {
  readonly spec: {
    readonly namespaceSelector: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
    readonly uplinks?: readonly string[];
    readonly network: {
      readonly topology: 'Layer2' | 'Layer3' | 'Localnet';
      readonly layer3?: {
        readonly role: 'Primary' | 'Secondary';
        readonly mtu?: number;
        readonly subnets: readonly {
          readonly cidr: string;
          readonly hostSubnet?: number;
        }[];
        readonly joinSubnets?: readonly string[];
      };
      readonly layer2?: {
        readonly role: 'Primary' | 'Secondary';
        readonly mtu?: number;
        readonly subnets?: readonly string[];
        readonly excludeSubnets?: readonly string[];
        readonly reservedSubnets?: readonly string[];
        readonly infrastructureSubnets?: readonly string[];
        readonly defaultGatewayIPs?: readonly string[];
        readonly joinSubnets?: readonly string[];
        readonly ipam?: {
          readonly mode?: 'Enabled' | 'Disabled';
          readonly lifecycle?: 'Persistent';
        };
      };
      readonly localnet?: {
        readonly role: 'Secondary';
        readonly physicalNetworkName: string;
        readonly subnets?: readonly string[];
        readonly excludeSubnets?: readonly string[];
        readonly ipam?: {
          readonly mode?: 'Enabled' | 'Disabled';
          readonly lifecycle?: 'Persistent';
        };
        readonly mtu?: number;
        readonly vlan?: {
          readonly mode: 'Access';
          readonly access?: {
            readonly id: number;
          };
        };
      };
      readonly transport?: 'NoOverlay' | 'EVPN';
      readonly noOverlay?: {
        readonly outboundSNAT: 'Enabled' | 'Disabled';
        readonly routing: 'Managed' | 'Unmanaged';
      };
      readonly evpn?: {
        readonly vtep: string;
        readonly macVRF?: {
          readonly vni: number;
          readonly routeTarget?: string;
        };
        readonly ipVRF?: {
          readonly vni: number;
          readonly routeTarget?: string;
        };
      };
    };
  };
  readonly status?: {
    readonly activeNamespaces?: readonly string[];
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
    readonly networkID?: number;
    readonly nodes?: string;
    readonly reason?: string;
    readonly refusedSubnets?: readonly string[];
  };
}

/** Of EgressFirewall, as version v1 stores it. */
export interface EgressFirewallFields {
  readonly spec: {
    readonly egress: readonly {
      readonly type: string;
      readonly ports?: readonly {
        readonly protocol: string;
        readonly port: number;
      }[];
      readonly to: {
        readonly cidrSelector?: string;
        readonly dnsName?: string;
        readonly nodeSelector?: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
    }[];
  };
  readonly status?: {
    readonly status?: string;
    readonly messages?: readonly string[];
  };
}

/** Of EgressIP, as version v1 stores it. */
export interface EgressIPFields {
  readonly spec: {
    readonly egressIPs: readonly string[];
    readonly namespaceSelector: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
    readonly podSelector?: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
    readonly egressNodeSelector?: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
    readonly trafficSelector?: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
  };
  readonly status?: {
    readonly items: readonly {
      readonly egressIP: string;
      readonly node: string;
    }[];
  };
}

/** Of EgressQoS, as version v1 stores it. */
export interface EgressQoSFields {
  readonly spec?: {
    readonly egress: readonly {
      readonly dscp: number;
      readonly dstCIDR?: string;
      readonly podSelector?: {
        readonly matchExpressions?: readonly {
          readonly key: string;
          readonly operator: string;
          readonly values?: readonly string[];
        }[];
        readonly matchLabels?: Readonly<Record<string, string>>;
      };
    }[];
  };
  readonly status?: {
    readonly status?: string;
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
  };
}

/** Of EgressService, as version v1 stores it. */
export interface EgressServiceFields {
  readonly spec?: {
    readonly sourceIPBy?: 'LoadBalancerIP' | 'Network';
    readonly nodeSelector?: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
    readonly network?: string;
  };
  readonly status?: {
    readonly host: string;
  };
}

/** Of EgressTrafficClass, as version v1 stores it. */
export interface EgressTrafficClassFields {
  readonly spec: {
    readonly destinations: readonly {
      readonly cidr: string;
      readonly protocols?: readonly {
        readonly tcp?: {
          readonly destinationPort?: {
            readonly number?: number;
            readonly range?: {
              readonly start: number;
              readonly end: number;
            };
          };
          readonly sourcePort?: {
            readonly number?: number;
            readonly range?: {
              readonly start: number;
              readonly end: number;
            };
          };
        };
        readonly udp?: {
          readonly destinationPort?: {
            readonly number?: number;
            readonly range?: {
              readonly start: number;
              readonly end: number;
            };
          };
          readonly sourcePort?: {
            readonly number?: number;
            readonly range?: {
              readonly start: number;
              readonly end: number;
            };
          };
        };
        readonly sctp?: {
          readonly destinationPort?: {
            readonly number?: number;
            readonly range?: {
              readonly start: number;
              readonly end: number;
            };
          };
          readonly sourcePort?: {
            readonly number?: number;
            readonly range?: {
              readonly start: number;
              readonly end: number;
            };
          };
        };
      }[];
    }[];
  };
}

/** Of IPAMClaim, as version v1alpha1 stores it. */
export interface IPAMClaimFields {
  readonly spec?: {
    readonly network: string;
    readonly interface: string;
  };
  readonly status?: {
    readonly ips: readonly string[];
    readonly ownerPod?: {
      readonly name: string;
    };
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
  };
}

/** Of NetworkAttachmentDefinition, as version v1 stores it. */
export interface NetworkAttachmentDefinitionFields {
  readonly spec?: {
    readonly config?: string;
  };
}

/** Of NetworkConnect, as version v1alpha1 stores it. */
export interface NetworkConnectFields {
  readonly spec: {
    readonly network: string;
    readonly peer: {
      readonly namespace: string;
      readonly network: string;
    };
    readonly connectivity: readonly ('PodNetwork' | 'ServiceNetwork')[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
    readonly nodes?: string;
    readonly reason?: string;
  };
}

/** Of NetworkQoS, as version v1alpha1 stores it. */
export interface NetworkQoSFields {
  readonly spec?: {
    readonly networkSelectors?: readonly {
      readonly networkSelectionType: 'DefaultNetwork' | 'ClusterUserDefinedNetworks' | 'PrimaryUserDefinedNetworks' | 'SecondaryUserDefinedNetworks' | 'NetworkAttachmentDefinitions';
      readonly clusterUserDefinedNetworkSelector?: {
        readonly networkSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
      readonly primaryUserDefinedNetworkSelector?: {
        readonly namespaceSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
      readonly secondaryUserDefinedNetworkSelector?: {
        readonly namespaceSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
        readonly networkSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
      readonly networkAttachmentDefinitionSelector?: {
        readonly namespaceSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
        readonly networkSelector: {
          readonly matchExpressions?: readonly {
            readonly key: string;
            readonly operator: string;
            readonly values?: readonly string[];
          }[];
          readonly matchLabels?: Readonly<Record<string, string>>;
        };
      };
    }[];
    readonly podSelector?: {
      readonly matchExpressions?: readonly {
        readonly key: string;
        readonly operator: string;
        readonly values?: readonly string[];
      }[];
      readonly matchLabels?: Readonly<Record<string, string>>;
    };
    readonly priority: number;
    readonly egress: readonly {
      readonly dscp: number;
      readonly bandwidth?: {
        readonly burst?: number;
        readonly rate?: number;
      };
      readonly classifier?: {
        readonly ports?: readonly {
          readonly port?: number;
          readonly protocol?: string;
        }[];
        readonly to?: readonly {
          readonly ipBlock?: {
            readonly cidr: string;
            readonly except?: readonly string[];
          };
          readonly namespaceSelector?: {
            readonly matchExpressions?: readonly {
              readonly key: string;
              readonly operator: string;
              readonly values?: readonly string[];
            }[];
            readonly matchLabels?: Readonly<Record<string, string>>;
          };
          readonly podSelector?: {
            readonly matchExpressions?: readonly {
              readonly key: string;
              readonly operator: string;
              readonly values?: readonly string[];
            }[];
            readonly matchLabels?: Readonly<Record<string, string>>;
          };
        }[];
      };
    }[];
  };
  readonly status?: {
    readonly status?: string;
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
  };
}

/** Of OVNSecondaryNetwork, as version v1alpha1 stores it. */
export interface OVNSecondaryNetworkFields {
  readonly spec: {
    readonly subnet?: string;
    readonly hasExternalConnectivity?: boolean;
    readonly mtu?: number;
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
    readonly networkID?: number;
    readonly nodes?: string;
    readonly reason?: string;
  };
}

/** Of UserDefinedNetwork, as version v1 stores it. */
export interface UserDefinedNetworkFields {
  readonly spec: {
    readonly topology: 'Layer2' | 'Layer3';
    readonly layer3?: {
      readonly role: 'Primary' | 'Secondary';
      readonly mtu?: number;
      readonly subnets: readonly {
        readonly cidr: string;
        readonly hostSubnet?: number;
      }[];
      readonly joinSubnets?: readonly string[];
    };
    readonly layer2?: {
      readonly role: 'Primary' | 'Secondary';
      readonly mtu?: number;
      readonly subnets?: readonly string[];
      readonly excludeSubnets?: readonly string[];
      readonly reservedSubnets?: readonly string[];
      readonly infrastructureSubnets?: readonly string[];
      readonly defaultGatewayIPs?: readonly string[];
      readonly joinSubnets?: readonly string[];
      readonly ipam?: {
        readonly mode?: 'Enabled' | 'Disabled';
        readonly lifecycle?: 'Persistent';
      };
    };
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly lastTransitionTime: string;
      readonly message: string;
      readonly observedGeneration?: number;
      readonly reason: string;
      readonly status: 'True' | 'False' | 'Unknown';
      readonly type: string;
    }[];
    readonly networkID?: number;
    readonly nodes?: string;
    readonly reason?: string;
    readonly refusedSubnets?: readonly string[];
  };
}

/** Of ZoneStatus, as version v1alpha1 stores it. */
export interface ZoneStatusFields {
  readonly status?: {
    readonly observedAt: string;
    readonly message?: string;
    readonly networks: readonly {
      readonly name: string;
      readonly state: 'Pending' | 'Committed' | 'Programmed' | 'Failed' | 'Unused';
      readonly message?: string;
      readonly violations?: number;
    }[];
    readonly used?: readonly string[];
    readonly ready?: boolean;
    readonly programmed?: string;
    readonly problemCount?: number;
    readonly version?: string;
    readonly ovnVersion?: string;
    readonly unreached?: readonly string[];
    readonly connects?: readonly {
      readonly name: string;
      readonly state: 'Pending' | 'Committed' | 'Programmed' | 'Failed' | 'Unused';
      readonly message?: string;
    }[];
    readonly problems: readonly {
      readonly object: string;
      readonly message: string;
    }[];
    readonly objects?: readonly {
      readonly object: string;
      readonly state: 'Pending' | 'Failed';
      readonly message?: string;
    }[];
    readonly applied?: readonly {
      readonly object: string;
      readonly generation: number;
      readonly uid?: string;
    }[];
    readonly appliedCount?: number;
    readonly notes?: readonly {
      readonly object: string;
      readonly message: string;
    }[];
  };
}
