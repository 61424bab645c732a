/** Networks: what NADs ask for, and which of it may be here. */
import { LAST_FIXED_NETWORK_ID } from '../../allocators/ids.ts';
import { switchTunnelKey } from '../../allocators/tunnel-keys.ts';
import {
  DEFAULT_ACCESS_LABEL,
  NETWORK_NAMES_LABEL,
} from '../../api/annotations/network-annotations.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { DerivedFacts } from '../../facts/derived-facts.ts';
import { FactTable } from '../../facts/fact-table.ts';
import type { KeySource } from '../../facts/keys.ts';
import type { Attachment, Network } from '../model.ts';
import {
  assembleNetwork,
  DEFAULT_NETWORK,
  defaultNetwork,
  type NetworkDefinition,
  type NetworkRegistration,
} from '../read/networks.ts';
import { isProblem } from '../read/reading.ts';
import {
  admitNetwork,
  comesBefore,
  idsOfNetwork,
  keyedNetworkComesBefore,
  tunnelKeysOf,
  type NetworkAdmission,
} from '../rules/admission.ts';
import { prefixesOfPort } from '../rules/names.ts';
import { SHARED_NAMESPACE } from '../rules/pod-plan.ts';
import { isOptedIn, nadGatewayProblem } from '../../api/nad/secondary-gateway.ts';
import type { NodeTables } from './nodes.ts';
import { problemOf, type ModelProblem } from './problems.ts';
import type { ZoneBasis } from './zone-basis.ts';

export type NetworkTables = ReturnType<typeof networkTables>;

/** Networks that NADs ask for, and the default one. */
const withDefault = (source: KeySource<[network: string]>): KeySource<[network: string]> => ({
  steps: source.steps,
  *keys() {
    yield [DEFAULT_NETWORK];
    for (const key of source.keys()) if (key[0] !== DEFAULT_NETWORK) yield key;
  },
  onKeys: (listener) =>
    source.onKeys((key, ...change) => {
      if (key[0] !== DEFAULT_NETWORK) listener(key, ...change);
    }),
});

export function networkTables(known: ZoneBasis & NodeTables) {
  const { nodeName, settings, graph, recorder, self, nodeSubnets, masqueradeNumbers, own } = known;
  /** NADs that count for their networks. */
  const definitions = new FactTable<
    [nad: string],
    NetworkDefinition,
    { namespace: [string]; named: []; open: []; pooled: []; optedIn: [] }
  >('definitions', recorder, {
    indexes: {
      namespace: ({ namespace }) => [namespace],
      named: ({ labels }) => (Object.hasOwn(labels, NETWORK_NAMES_LABEL) ? [[]] : []),
      pooled: ({ servicePool }) => (servicePool === undefined ? [] : [[]]),
      optedIn: ({ secondaryGateway }) => (secondaryGateway === undefined ? [] : [[]]),
      open: ({ labels }) => (Object.hasOwn(labels, DEFAULT_ACCESS_LABEL) ? [[]] : []),
    },
  });
  /** What the NADs of each network say together. */
  const registrations = new FactTable<[network: string], NetworkRegistration, { key: [string] }>(
    'registrations',
    recorder,
    { indexes: { key: (registration, name) => tunnelKeysOf({ ...registration, name }) } },
  );
  /** Every network that is known, rendered or not. */
  const networks = new DerivedFacts<
    [network: string],
    Network,
    { identity: [string]; prefix: [string]; id: [string] }
  >('networks', graph, withDefault(registrations), (name) => assemble(name), {
    object: (network) => `network ${network}`,
    indexes: {
      identity: (network) => idsOfNetwork(network, nodeName),
      prefix: ({ name }) => [ovnPrefix(name)],
      id: ({ id }) => [String(id)],
    },
  });
  const admissions = new DerivedFacts<
    [network: string],
    NetworkAdmission,
    { problem: []; keepsRows: [] }
  >('admissions', graph, networks, (name) => admit(name), {
    object: (network) => `network ${network}`,
    indexes: {
      problem: isProblem,
      keepsRows: ({ keepsRows }) => (keepsRows === true ? [[]] : []),
    },
  });

  function assemble(name: string): Network | undefined {
    if (name === DEFAULT_NETWORK) return defaultNetwork(settings);
    const registration = registrations.get(name);
    if (registration === undefined) return undefined;
    const { config, nads } = registration;
    const texts = nads.map((nad) => definitions.part(nad, 'secondaryGateway'));
    return assembleNetwork(registration, settings, {
      isOptedIn: isOptedIn(texts, config, settings),
      number:
        registration.id <= LAST_FIXED_NETWORK_ID
          ? registration.id
          : masqueradeNumbers.get(name)?.number,
    });
  }

  function admit(name: string): NetworkAdmission | undefined {
    const network = networks.get(name);
    const id = self.part(nodeName, 'id');
    if (network === undefined || id === undefined) return undefined;
    return admitNetwork(network, {
      settings,
      node: { name: nodeName, id },
      nodeSubnets: nodeSubnets.get(name, nodeName)?.cidrs ?? [],
      ownerOf: (identity) =>
        networks
          .by('identity', identity)
          .find(
            (other) => comesBefore(other, network) && admissions.get(other.name)?.kind === 'value',
          )?.name,
      takenKey: takenKey(name),
    });
  }

  /** What is wrong with how a NAD asks for a gateway, or with it beside the other NADs of its network. */
  function gatewayProblem(nad: string): string | undefined {
    const { network = '', secondaryGateway = '' } = definitions.peek(nad) ?? {};
    const { config, nads = [] } = registrations.peek(network) ?? {};
    if (config === undefined) return undefined;
    const without = nads.find((one) => definitions.peek(one)?.secondaryGateway === undefined);
    return nadGatewayProblem(secondaryGateway, config, settings, without);
  }

  /** A tunnel key of a network that another one had before it, and which. */
  function takenKey(name: string): { readonly key: string; readonly owner: string } | undefined {
    const registration = registrations.get(name);
    if (registration === undefined) return undefined;
    const network = { ...registration, name };
    for (const key of tunnelKeysOf(network)) {
      if (key === String(switchTunnelKey(0))) return { key, owner: DEFAULT_NETWORK };
      const owner = registrations.keysBy('key', key).find((other) => {
        const found = registrations.get(other);
        return (
          found !== undefined &&
          keyedNetworkComesBefore({ ...found, name: other }, network) &&
          admissions.get(other)?.kind !== 'problem'
        );
      });
      if (owner !== undefined) return { key, owner };
    }
    return undefined;
  }

  return {
    definitions,
    registrations,
    networks,
    /** Why a network has no rows here although it is known: refused, or not rendered in this release. */
    admissions,

    /** Names of the networks of an id. */
    networksOfId: (id: number): readonly string[] => networks.keysBy('id', String(id)),

    /** Secondary networks that have a gateway, and that pods of a namespace may be on. */
    optedInFor: (namespace: string): readonly string[] =>
      [...new Set([namespace, SHARED_NAMESPACE])]
        .flatMap((one) => definitions.by('namespace', one))
        .map(({ network }) => network)
        .filter((network) => networks.part(network, 'isOptedIn') === true),

    /** True for an interface by which its pod sends something out of the cluster. */
    leavesBy: ({ role, network }: Pick<Attachment, 'role' | 'network'>): boolean =>
      role === 'primary' || (role === 'secondary' && networks.part(network, 'isOptedIn') === true),

    /** The network of an id, as far as it is known. */
    networkOfId: (id: number): Network | undefined => networks.by('id', String(id))[0],

    /**
     * True for a port whose name the infrastructure of a network has, or will have as soon as something uses the network: no
     * pod can have it.
     */
    isInfrastructurePort: (port: string, pod: string): boolean =>
      prefixesOfPort(port, pod, nodeName, own('gateway')?.bridge).some(
        (prefix) => networks.keysBy('prefix', prefix).length > 0,
      ),

    *networkProblems(): Iterable<ModelProblem> {
      for (const name of admissions.keysBy('problem'))
        yield* problemOf(networks.peek(name)?.object ?? '', admissions.peek(name));
      for (const nad of definitions.keysBy('optedIn')) {
        const message = gatewayProblem(nad);
        if (message !== undefined) yield { object: `NetworkAttachmentDefinition ${nad}`, message };
      }
    },
  };
}
