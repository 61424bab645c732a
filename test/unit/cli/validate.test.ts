import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatManifestError, parseManifest } from '../../../src/api/validation/manifest.ts';
import { previewText } from '../../../src/cli/validate-connects.ts';
import { checkTogether } from '../../../src/cli/validate-together.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { program } from '../../../src/lab/paths.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const network = (name: string, config: string, namespace = 'blue'): string => `
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: ${name}, namespace: ${namespace} }
spec:
  topology: Layer2
  layer2: ${config}
`;
const namespace = (labels: string): string =>
  `\napiVersion: v1\nkind: Namespace\nmetadata: { name: blue, labels: ${labels} }\n`;

describe('objects that are each valid', () => {
  const together = (...documents: string[]): { errors: string[]; warnings: string[] } => {
    const { errors, warnings } = checkTogether(
      parseManifest(documents.join('---'), 'net.yaml').documents,
      { ...DEFAULT_SETTINGS, secondaryGateways: true },
    );
    return { errors: errors.map(formatManifestError), warnings: warnings.map(formatManifestError) };
  };

  test('have nothing against each other', () => {
    const labelled = namespace('{ k8s.ovn.org/primary-user-defined-network: "" }');
    const net = network('net', '{ role: Primary, subnets: [10.0.0.0/24] }');
    expect(together(labelled, net)).toEqual({ errors: [], warnings: [] });
  });

  test('EgressIPs that ask for what another one has, or for nothing, have no effect', () => {
    const egressIp = (name: string, addresses: string): string =>
      `\napiVersion: k8s.ovn.org/v1\nkind: EgressIP\nmetadata: { name: ${name} }\nspec: { egressIPs: [${addresses}], namespaceSelector: {} }\n`;
    expect(
      together(egressIp('a', '"fd00::1"'), egressIp('b', '"fd00:0::1"'), egressIp('c', ''))
        .warnings,
    ).toEqual([
      'net.yaml:10:9: EgressIP b: spec.egressIPs: the cluster manager would refuse it: fd00::1 is asked for by EgressIP a (net.yaml:2); write another one',
      'net.yaml:15:9: EgressIP c: spec.egressIPs: asks for no address, and has no effect: write one or more',
    ]);
    const inside = ['127.0.0.1', '10.128.0.5', '172.16.1.5', '100.64.0.5', '"fe80::1"'];
    const refused = (text: string): unknown =>
      expect.stringMatching(
        `EgressIP d: spec.egressIPs: the cluster manager would refuse it: "${text}" is in the .*; write an address of a network of the nodes$`,
      );
    expect(
      together(egressIp('d', [...inside, '172.18.0.5', '172.18.0.5'].join())).warnings,
    ).toEqual([
      ...inside.map((text) => refused(text.replaceAll('"', ''))),
      'net.yaml:5:9: EgressIP d: spec.egressIPs: an address is there twice, and counts once; take it out',
    ]);
  });

  test('a policy for a network that is not there says so', () => {
    const policy = `\napiVersion: k8s.cni.cncf.io/v1beta1\nkind: MultiNetworkPolicy\nmetadata: { name: p, namespace: blue, annotations: { k8s.v1.cni.cncf.io/policy-for: 'lna, green/lan' } }\nspec: { podSelector: {} }\n`;
    const lan = network('lan', '{ role: Secondary, subnets: [10.9.0.0/24] }');
    expect(together(lan, policy).warnings).toEqual([
      expect.stringContaining(
        'annotation k8s.v1.cni.cncf.io/policy-for: there is no network or network-attachment-definition "blue/lna" here: did you mean "blue/lan"?',
      ),
    ]);
  });

  test('labels and annotations that nobody reads, and that look like one that is read, are told', () => {
    const told = (labels: string): string[] => together(namespace(labels)).warnings;
    expect(told('{ k8s.ovn.org/primary-user-define-network: "" }')).toEqual([
      'net.yaml:4:35: Namespace blue: label k8s.ovn.org/primary-user-define-network says nothing: did you mean "k8s.ovn.org/primary-user-defined-network"?',
    ]);
    expect(told('{ }, annotations: { k8s.ovn.org/primary-user-defined-network: "" }')).toEqual([
      expect.stringMatching(/annotation .* says nothing: it is one as label: move it there$/),
    ]);
    // Of programs, and of others.
    expect(told('{ k8s.ovn.org/network-name: a, example.org/network: b }')).toEqual([]);
  });

  test('an object without a name is not called as its namespace', () => {
    const { errors } = parseManifest(network('false', '{ role: Primary }'), 'net.yaml');
    expect(errors[0]?.object).toBe('UserDefinedNetwork blue/(without a name)');
  });

  describe('pods', () => {
    const NODE = '\napiVersion: v1\nkind: Node\nmetadata: { name: n1 }\n';
    const declared = [
      namespace('{ k8s.ovn.org/primary-user-defined-network: "" }'),
      NODE,
      network('main', '{ role: Primary, subnets: [10.0.0.0/24] }'),
      network('lan', '{ role: Secondary, subnets: [10.9.0.0/24] }'),
    ];
    const podOf = (annotations: string, node = 'n1', inside = 'blue'): string =>
      `\napiVersion: v1\nkind: Pod\nmetadata: { name: web, namespace: ${inside}, annotations: ${annotations} }\nspec: { nodeName: ${node}, containers: [{ name: a, image: a }] }\n`;
    const networks = (text: string): string => `{ k8s.v1.cni.cncf.io/networks: '${text}' }`;

    test('that get what they ask for have nothing against them', () => {
      const ips = networks('[{"name":"lan","ips":["10.9.0.9/24"]}]');
      expect(together(...declared, podOf(ips)).warnings).toEqual([]);
    });

    test.each([
      ['a network that is not there', podOf(networks('lna')), 'did you mean "blue/lan"?'],
      ['their primary network', podOf(networks('main')), 'is a primary network'],
      ['what is no JSON', podOf(networks('[{')), 'is not valid JSON'],
      [
        'a claim that is not there',
        `\napiVersion: k8s.cni.cncf.io/v1alpha1\nkind: IPAMClaim\nmetadata: { name: db, namespace: blue }\nspec: { network: blue_main, interface: ovn-udn1 }\n---\n${podOf(
          '{ k8s.ovn.org/primary-udn-ipamclaim: bd }',
        )}`,
        'there is no IPAMClaim "blue/bd" here: did you mean "blue/db"?',
      ],
      [
        'a bandwidth that is none',
        podOf('{ kubernetes.io/ingress-bandwidth: fast }'),
        'annotation kubernetes.io/ingress-bandwidth: must be a quantity, is "fast"',
      ],
      ['a node that is not there', podOf('{}', 'n2'), 'spec.nodeName: there is no node "n2" here'],
      ['a namespace that is not there', podOf('{}', 'n1', 'bluee'), 'did you mean "blue"?'],
      [
        'another primary network',
        podOf('{ k8s.ovn.org/requested-primary-udn: mai }'),
        'did you mean "blue/main"?',
      ],
      [
        'an address of somewhere else',
        podOf(networks('[{"name":"lan","ips":["10.7.0.9/24"]}]')),
        '"10.7.0.9/24" is in no subnet of the network: take one of 10.9.0.0/24',
      ],
      [
        'ports that can not be',
        podOf("{ k8s.ovn.org/open-default-ports: '- {protocol: tcp, port: 99999}' }"),
        'open-default-ports: entry 1: port: must be a whole number',
      ],
    ])('that ask for %s are told', (_what, asking, message) => {
      expect(together(...declared, asking)).toEqual({
        errors: [],
        warnings: [expect.stringContaining(message)],
      });
    });

    test('of what is not among these manifests nothing is known', () => {
      expect(together(podOf(networks('lna'), 'n2')).warnings).toEqual([]);
    });
  });

  test.each([
    ['10.0.0.5/24 has host bits: it is read as 10.0.0.0/24', '[10.0.0.5/24]'],
    ['10.0.0.0/30 has no address for a pod', '[10.0.0.0/30]'],
  ])('networks: %s', (message, subnets) => {
    const labelled = namespace('{ k8s.ovn.org/primary-user-defined-network: "" }');
    const net = network('net', `{ role: Primary, subnets: ${subnets} }`);
    expect(together(labelled, net).warnings).toEqual([expect.stringContaining(message)]);
  });

  test('are told what nodes, or the manager, would refuse of each', () => {
    const of = (kind: string, version: string, metadata: string, spec: string): string =>
      `\napiVersion: k8s.ovn.org/${version}\nkind: ${kind}\nmetadata: ${metadata}\nspec: ${spec}\n`;
    const { errors, warnings } = together(
      of(
        'EgressFirewall',
        'v1',
        '{ name: default, namespace: blue }',
        '{ egress: [{ type: Deny, to: { dnsName: "*.org" } }] }',
      ),
      of(
        'AdminPolicyBasedExternalRoute',
        'v1',
        '{ name: gw }',
        '{ from: { namespaceSelector: {} }, nextHops: { static: [{ ip: 127.0.0.1 }] } }',
      ),
      of('EgressIP', 'v1', '{ name: fixed }', '{ egressIPs: [1.2.3.400], namespaceSelector: {} }'),
    );
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      expect.stringContaining(
        'EgressFirewall blue/default: nodes would refuse it: spec.egress[0].to.dnsName',
      ),
      // With the place of the field.
      expect.stringMatching(
        /:65: AdminPolicyBasedExternalRoute gw: nodes would refuse it: spec\.nextHops\.static\[0\]\.ip/,
      ),
      expect.stringContaining(
        'EgressIP fixed: spec.egressIPs: the cluster manager would refuse it: "1.2.3.400"',
      ),
    ]);
  });

  test('may be the same object twice', () => {
    const net = network('net', '{ role: Secondary, subnets: [10.0.0.0/24] }');
    expect(together(net, net)).toEqual({
      errors: [
        'net.yaml:9:1: UserDefinedNetwork blue/net: is defined already at net.yaml:2: remove one of the two',
      ],
      warnings: [],
    });
  });

  test('may overlap the settings of the cluster', () => {
    expect(
      together(network('net', '{ role: Secondary, subnets: [10.128.0.0/24] }')).warnings,
    ).toEqual([
      'net.yaml:7:30: UserDefinedNetwork blue/net: spec.layer2.subnets: the cluster manager would refuse it: invalid subnet configuration: ' +
        'pod or join subnet overlaps with already configured internal subnets: ' +
        'user defined subnet "10.128.0.0/24" overlaps cluster subnet "10.128.0.0/14"',
    ]);
  });

  test('may get the same names in OVN', () => {
    const dash = network('a-b', '{ role: Secondary, subnets: [10.0.0.0/24] }');
    const dot = network('a.b', '{ role: Secondary, subnets: [10.0.0.0/24] }');
    expect(together(dash, dot).warnings).toEqual([
      'net.yaml:9:1: UserDefinedNetwork blue/a.b: the cluster manager would refuse it: OVN names of this network and of ' +
        'UserDefinedNetwork blue/a-b (net.yaml:2) are the same (blue_a.b_…); rename one',
    ]);
  });

  test('may be a primary network in a namespace that is not prepared for one', () => {
    const net = network('net', '{ role: Primary, subnets: [10.0.0.0/24] }');
    expect(together(namespace('{}'), net).warnings).toEqual([
      'net.yaml:6:1: UserDefinedNetwork blue/net: the cluster manager would refuse it: namespace "blue" (net.yaml:2) ' +
        'has no label k8s.ovn.org/primary-user-defined-network; it must be there when the namespace is created',
    ]);
  });

  test.each([
    ['network-names', 'names of the network are', 'names are answered on primary networks alone'],
    [
      'default-network-access',
      'the default network reaches no service of the network',
      'services are on primary networks alone',
    ],
  ])('may have a label that says nothing: %s', (label, otherwise, elsewhere) => {
    const labelled = (value: string, role = 'Primary'): readonly string[] =>
      together(
        network('net', `{ role: ${role}, subnets: [10.0.0.0/24] }`).replace(
          'name: net',
          `name: net, labels: { k8s.ovn.org/${label}: "${value}" }`,
        ),
      ).warnings;
    expect(labelled('true')).toEqual([]);
    expect(labelled('on')).toEqual([
      expect.stringContaining(`"on" is neither "true" nor "false"; ${otherwise}`),
    ]);
    expect(labelled('true', 'Secondary')).toEqual([
      expect.stringContaining(`${elsewhere}; remove the label`),
    ]);
  });

  test('may have a pool for services that can not be used', () => {
    const pooled = (pool: string): readonly string[] =>
      together(
        network('net', '{ role: Primary, subnets: [10.0.0.0/24] }').replace(
          'name: net',
          `name: net, annotations: { k8s.ovn.org/service-pool: "${pool}" }`,
        ),
      ).warnings;
    expect(pooled('192.0.2.0/28')).toEqual([]);
    expect(pooled('10.0.0.128/25')).toEqual([
      'net.yaml:4:39: UserDefinedNetwork blue/net: metadata.annotations[k8s.ovn.org/service-pool]: "10.0.0.128/25" is in subnet 10.0.0.0/24 of the network, where pods get addresses; choose a range outside of it, or in spec.layer2.infrastructureSubnets, which a network has from its creation on',
    ]);
  });

  test('may ask for a gateway that they can not have', () => {
    const asking = (text: string, role = 'Secondary'): readonly string[] =>
      together(
        `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue, annotations: { k8s.ovn.org/secondary-gateway: '${text}' } }
spec: { topology: Layer3, layer3: { role: ${role}, subnets: [{ cidr: 10.30.0.0/16 }] } }
`,
      ).warnings;
    expect(asking('{}')).toEqual([]);
    expect(asking('{"routes": ["0.0.0.0/0"]}')).toEqual([
      expect.stringMatching(
        /^net\.yaml:3:\d+: UserDefinedNetwork blue\/net: metadata\.annotations\[k8s\.ovn\.org\/secondary-gateway\]: "0\.0\.0\.0\/0" is the default route/,
      ),
    ]);
    expect(asking('{}', 'Primary')).toEqual([expect.stringContaining('has anyway')]);
  });

  test('may be named by services that can not be there', () => {
    const serving = (network: string, gateway = true): readonly string[] =>
      together(
        `apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: { name: net, namespace: blue${gateway ? ", annotations: { k8s.ovn.org/secondary-gateway: '{}' }" : ''} }
spec: { topology: Layer3, layer3: { role: Secondary, subnets: [{ cidr: 10.30.0.0/16 }] } }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: blue, annotations: { k8s.v1.cni.cncf.io/service-network: '${network}' } }
spec: { selector: { app: web }, ports: [{ port: 80 }] }
`,
      ).warnings;
    expect(serving('net')).toEqual([]);
    expect(serving('net', false)).toEqual([
      expect.stringMatching(/^net\.yaml:8:\d+: Service blue\/web: .*which has no gateway/),
    ]);
    expect(serving('nat')).toEqual([expect.stringContaining('stands for a network here')]);
    expect(serving('red/net')).toEqual([expect.stringContaining('is of namespace red')]);
    expect(serving('{}')).toEqual([expect.stringContaining('is no name')]);
  });

  test('may select nothing', () => {
    const green = (operator: string): string => `
apiVersion: k8s.ovn.org/v1
kind: ClusterUserDefinedNetwork
metadata: { name: green }
spec:
  namespaceSelector:
    matchExpressions: [{ key: team, operator: ${operator}, values: [a] }]
  network: { topology: Layer2, layer2: { role: Secondary, subnets: [10.0.0.0/24] } }
`;
    expect(together(green('In')).warnings).toEqual([]);
    expect(together(green('Is')).warnings).toEqual([
      'net.yaml:6:3: ClusterUserDefinedNetwork green: it would select nothing: spec.namespaceSelector: ' +
        'operator "Is" is none of In, NotIn, Exists, DoesNotExist',
    ]);
    expect(together(green('Exists')).warnings[0]).toContain('operator Exists takes no values');
  });

  test('may be a NAD with a configuration that means nothing', () => {
    const nad =
      'apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\n' +
      'metadata: { name: net, namespace: blue }\nspec:\n  config: "{"\n';
    expect(together(nad).warnings[0]).toMatch(
      /^net\.yaml:5:3: NetworkAttachmentDefinition blue\/net: spec\.config: the network would not be made: Failed to parse network config: /,
    );
  });
});

describe('networks that the cluster manager would not make', () => {
  const warningsOf = (...documents: readonly string[]): string[] =>
    checkTogether(
      parseManifest(documents.join('---'), 'net.yaml').documents,
      DEFAULT_SETTINGS,
    ).warnings.map(formatManifestError);
  const labelled = namespace('{ k8s.ovn.org/primary-user-defined-network: "" }');
  const cluster = (name: string, more: string, network = ''): string => `
apiVersion: k8s.ovn.org/v1
kind: ClusterUserDefinedNetwork
metadata: { name: ${name} }
spec:
  namespaceSelector: {}
${more}  network:
    topology: Layer3
    layer3: { role: Primary, subnets: [{ cidr: 10.1.0.0/16 }] }
${network}`;

  test('since they ask for a transport or uplinks', () => {
    expect(
      warningsOf(
        cluster(
          'plain',
          '',
          '    transport: NoOverlay\n    noOverlay: { outboundSNAT: Enabled, routing: Managed }\n',
        ),
        cluster('wired', '  uplinks: [eth1]\n'),
      ),
    ).toEqual([
      'net.yaml:10:5: ClusterUserDefinedNetwork plain: spec.network.transport: its condition TransportAccepted would be False: RouteAdvertisements feature is not enabled but required for NoOverlay transport.',
      'net.yaml:18:3: ClusterUserDefinedNetwork wired: the cluster manager would refuse it: spec.uplinks is set but the Uplink feature is disabled, ignoring this CUDN',
    ]);
  });

  describe('what a connection would join', () => {
    const space = (name: string, labels = ''): string =>
      `\napiVersion: v1\nkind: Namespace\nmetadata: { name: ${name}, labels: { k8s.ovn.org/primary-user-defined-network: ''${labels} } }\n`;
    const layer2 = (name: string, cidr: string, role = 'Primary'): string =>
      network('net', `{ role: ${role}, subnets: [${cidr}] }`, name);
    const cluster = (name: string, cidr: string): string => `
apiVersion: k8s.ovn.org/v1
kind: ClusterUserDefinedNetwork
metadata: { name: ${name}, labels: { meets: 'yes' } }
spec:
  namespaceSelector: { matchLabels: { tenant: ${name} } }
  network: { topology: Layer2, layer2: { role: Primary, subnets: [${cidr}] } }
`;
    const connect = (name: string, range: string): string => `
apiVersion: k8s.ovn.org/v1
kind: ClusterNetworkConnect
metadata: { name: ${name} }
spec:
  networkSelectors:
    - networkSelectionType: ClusterUserDefinedNetworks
      clusterUserDefinedNetworkSelector: { networkSelector: { matchLabels: { meets: 'yes' } } }
    - networkSelectionType: PrimaryUserDefinedNetworks
      primaryUserDefinedNetworkSelector: { namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: blue } } }
  connectSubnets: [{ cidr: ${range}, networkPrefix: 24 }]
  connectivity: [PodNetwork]
`;
    const documents = (...texts: string[]) =>
      parseManifest(texts.join('---'), 'net.yaml').documents;
    const would = (texts: string[], stored: string[] = []): string[] =>
      checkTogether(documents(...texts), DEFAULT_SETTINGS, documents(...stored)).connections.map(
        previewText,
      );

    test('is told, with what is stored already', () => {
      const meeting = connect('meeting', '192.168.0.0/16');
      const blue = [space('blue'), layer2('blue', '10.20.0.0/16')];
      const others = [
        cluster('yellow', '10.30.0.0/16'),
        space('red'),
        layer2('red', '10.40.0.0/16'),
      ];
      const both = ['ClusterNetworkConnect meeting would join blue/net, yellow (pods)'];
      expect(would([...blue, ...others, meeting])).toEqual(both);
      expect(would([meeting], [...blue, ...others])).toEqual(both);
      expect(would([...blue, meeting])).toEqual([
        'ClusterNetworkConnect meeting selects only blue/net of these files: it joins two at least',
      ]);
      // A namespace that no file writes has its name.
      expect(would([layer2('blue', '10.20.0.0/16'), ...others, meeting])).toEqual(both);
    });

    test('is no network of a namespace that is not prepared for one', () => {
      const plain = '\napiVersion: v1\nkind: Namespace\nmetadata: { name: blue }\n';
      expect(
        would([
          plain,
          layer2('blue', '10.20.0.0/16'),
          cluster('yellow', '10.30.0.0/16'),
          connect('meeting', '192.168.0.0/16'),
        ]),
      ).toEqual([
        'ClusterNetworkConnect meeting selects only yellow of these files: it joins two at least',
      ]);
    });

    test('is refused with the reasons that the cluster manager would have', () => {
      const warnings = (...texts: string[]): string[] =>
        checkTogether(documents(...texts), DEFAULT_SETTINGS).warnings.map(formatManifestError);
      const blue = layer2('blue', '10.20.0.0/16');
      expect(
        warnings(blue, cluster('yellow', '10.20.4.0/24'), connect('a', '192.168.0.0/16')),
      ).toEqual([
        expect.stringContaining(
          "Cannot connect networks 'blue/net' and 'yellow': overlapping pod subnets 10.20.4.0/24 detected.",
        ),
      ]);
      const services = connect('a', '192.168.0.0/16').replace('PodNetwork', 'ServiceNetwork');
      expect(warnings(blue, cluster('yellow', '10.20.4.0/24'), services)).toEqual([]);
      expect(
        warnings(
          blue,
          cluster('yellow', '10.30.0.0/16'),
          connect('a', '192.168.0.0/16'),
          connect('b', '192.168.128.0/17'),
        ),
      ).toEqual([
        expect.stringContaining(
          "Connect subnet 192.168.128.0/17 overlaps with ClusterNetworkConnect 'a' which also selects network 'blue/net'",
        ),
      ]);
      expect(
        warnings(blue, cluster('yellow', '10.30.0.0/16'), connect('a', '10.20.0.0/16')),
      ).toEqual([
        expect.stringContaining(
          "Connect subnet 10.20.0.0/16 conflicts with pod subnet 10.20.0.0/16 of network 'blue/net'",
        ),
      ]);
    });
  });

  test('since the ranges of a connection are used by the cluster', () => {
    expect(
      warningsOf(`
apiVersion: k8s.ovn.org/v1
kind: ClusterNetworkConnect
metadata: { name: both }
spec:
  networkSelectors:
    - networkSelectionType: PrimaryUserDefinedNetworks
      primaryUserDefinedNetworkSelector: { namespaceSelector: {} }
  connectSubnets: [{ cidr: 172.16.0.0/16, networkPrefix: 24 }]
  connectivity: [PodNetwork]
`),
    ).toEqual([
      'net.yaml:9:3: ClusterNetworkConnect both: the cluster manager would refuse it: Connect subnet 172.16.0.0/16 conflicts with service subnet 172.16.1.0/24 of the cluster',
    ]);
  });

  test('but an EgressService with a routing table that it may not name', () => {
    expect(
      warningsOf(
        'apiVersion: k8s.ovn.org/v1\nkind: EgressService\nmetadata: { name: web, namespace: blue }\n' +
          'spec: { sourceIPBy: LoadBalancerIP, network: "255" }\n',
      ),
    ).toEqual([
      expect.stringMatching(
        /EgressService blue\/web: .*spec\.network: "255" is the kernel's table of local addresses: no pod of it leaves/,
      ),
    ]);
  });

  test('since the namespace has another primary network', () => {
    const first = network('first', '{ role: Primary, subnets: [10.0.0.0/24] }');
    expect(
      warningsOf(labelled, first, network('second', '{ role: Primary, subnets: [10.0.1.0/24] }')),
    ).toEqual([]);
    expect(
      warningsOf(
        labelled,
        first,
        network('second', '{ role: Primary, subnets: [10.0.0.128/25] }'),
        cluster('third', ''),
      ),
    ).toEqual([
      expect.stringMatching(
        /^net\.yaml:13:1: UserDefinedNetwork blue\/second: the cluster manager would refuse it: .*subnet 10\.0\.0\.128\/25 overlaps subnet 10\.0\.0\.0\/24 of network blue_first$/,
      ),
      expect.stringMatching(
        /ClusterUserDefinedNetwork third: the cluster manager would refuse it: .*a ClusterUserDefinedNetwork can't be added to a namespace whose primary network is a UserDefinedNetwork$/,
      ),
    ]);
  });

  test('since its selector is another one than that of the primary network that is there', () => {
    // Namespaces carry their name as a label, also where no file says so.
    const selecting = (name: string, selector: string, cidr: string): string => `
apiVersion: k8s.ovn.org/v1
kind: ClusterUserDefinedNetwork
metadata: { name: ${name} }
spec:
  namespaceSelector: ${selector}
  network: { topology: Layer2, layer2: { role: Primary, subnets: [${cidr}] } }
`;
    const byName = '{ matchLabels: { kubernetes.io/metadata.name: blue } }';
    expect(
      warningsOf(
        labelled,
        selecting('first', '{}', '10.0.0.0/24'),
        selecting('second', byName, '10.0.1.0/24'),
      ),
    ).toEqual([
      expect.stringMatching(
        /ClusterUserDefinedNetwork second: the cluster manager would refuse it: .*a further primary network needs the same spec.namespaceSelector as network cluster_udn_first$/,
      ),
    ]);
  });
});

describe('heddle validate', () => {
  let folder = '';
  const run = (
    args: readonly string[],
    input = '',
  ): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [program, 'validate', ...args], {
      input,
      encoding: 'utf8',
      cwd: folder,
      env: { ...process.env, NO_COLOR: '1' },
    });

  beforeAll(() => {
    folder = ownFolder('heddle-validate');
    writeFileSync(
      join(folder, 'old.yaml'),
      network('net', '{ role: Secondary, subnets: [10.0.0.0/24] }'),
    );
    writeFileSync(
      join(folder, 'new.yaml'),
      network('net', '{ role: Secondary, subnets: [10.1.0.0/24] }'),
    );
    writeFileSync(
      join(folder, 'bad.yaml'),
      network('net', '{ role: Third, subnets: [10.1.0.0/24] }'),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('says that all is well, and what it could not check', () => {
    const { status, stdout } = run(['new.yaml']);
    expect(stdout).toBe(
      'note rules about updates (what may not change) were not checked: give what is stored now with --old FILE\n' +
        '1 object in 1 file: 0 errors, 0 warnings\n',
    );
    expect(status).toBe(0);
  });

  test('kinds of ours that nobody serves are errors, others are not ours; an empty file is told', () => {
    const of = (apiVersion: string, kind: string): string =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n---\n`;
    const { status, stdout } = run(
      ['-'],
      of('k8s.ovn.org/v2', 'UserDefinedNetwork') +
        of('k8s.ovn.org/v1', 'UserDefindNetwork') +
        of('k8s.ovn.com/v1', 'UserDefinedNetwork') +
        of('v1', 'UserDefinedNetwork') +
        of('apps/v1', 'Deployment') +
        of('events.k8s.io/v1', 'Event') +
        of('projectcalico.org/v3', 'NetworkPolicy'),
    );
    const told = stdout.match(/^error .*$/gm) ?? [];
    expect(told.map((line) => line.slice(line.indexOf(' in ')))).toEqual(
      ['k8s.ovn.org/v2', 'k8s.ovn.org/v1', 'k8s.ovn.com/v1', 'v1'].map(
        (version) => ` in ${version}: did you mean kind UserDefinedNetwork in k8s.ovn.org/v1?`,
      ),
    );
    expect(stdout.match(/^skipped .*$/gm)).toEqual([
      'skipped 1 object of kind Deployment (apps/v1), which Heddle does not use',
      'skipped 1 object of kind Event (events.k8s.io/v1), which Heddle does not use',
      'skipped 1 object of kind NetworkPolicy (projectcalico.org/v3), which Heddle does not use',
    ]);
    expect(status).toBe(1);
    expect(run(['-']).stdout).toMatch(/^warning <stdin>:1:1: holds no object$/m);
  });

  test.each([
    ['networking.k8s.io/v1', 'NetworkPolcy', 'NetworkPolicy in networking.k8s.io/v1'],
    ['discovery.k8s.io/v1beta1', 'EndpointSlice', 'EndpointSlice in discovery.k8s.io/v1'],
    ['v1', 'Namespce', 'Namespace in v1'],
    ['apps/v1', 'Pod', 'Pod in v1'],
  ])('%s knows no %s', (apiVersion, kind, meant) => {
    const { status, stdout } = run(
      ['-'],
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: { name: a }\n`,
    );
    expect(stdout).toContain(
      `nobody serves kind ${kind} in ${apiVersion}: did you mean kind ${meant}?`,
    );
    expect(status).toBe(1);
  });

  test.each([
    [
      'apiVersion: v1\nkind: Namespace\nmetdata: { name: a }',
      'metdata: unknown field: did you mean "metadata"?',
      1,
    ],
    ['kind: Namespace\nmetadata: { name: a }', 'apiVersion: Required value: write v1', 1],
    [
      'apiVersion: k8s.ovn.org/v1\nkind: EgressIP\nmetadata: { name: a }\nspec: { egressIPs: [10.0.0.1], namespaceSelector: {}, podSelecter: {} }',
      'EgressIP a: spec.podSelecter: unknown field: did you mean "podSelector"?',
      1,
    ],
    [
      'apiVersion: v1\nkind: Namespace\nmetadata: { name: a, annotations: { k8s.ovn.org/multicast-enabled: yes } }',
      'Invalid value: true: must be a string (put the value in quotes)',
      1,
    ],
    [
      'apiVersion: v1\nkind: Node\nmetadata: { name: a, namespace: b }',
      'note Node a: metadata.namespace is dropped: objects of this kind are in no namespace; take it out',
      0,
    ],
  ])('%j: %s', (text, told, code) => {
    const { status, stdout } = run(['-'], text);
    expect(stdout).toContain(told);
    expect(status).toBe(code);
  });

  test('checks an update when it is given what is stored', () => {
    const { status, stdout } = run(['--old', 'old.yaml', 'new.yaml']);
    expect(stdout).toMatch(
      /^error new\.yaml:7:3: UserDefinedNetwork blue\/net: spec\.layer2: .*: Layer2 is immutable; keep what is stored, or delete the object and make it anew\n/,
    );
    expect(status).toBe(1);
  });

  test('forgives in an update what is stored like that, and says so', () => {
    writeFileSync(
      join(folder, '.stored.yaml'),
      network('net', '{ role: Secondary, mtu: 100, subnets: [10.0.0.0/24] }'),
    );
    const labelled = network(
      'net',
      '{ role: Secondary, mtu: 100, subnets: [10.0.0.0/24] }',
    ).replace('name: net', 'name: net, labels: { team: a }');
    const update = run(['--old', '.stored.yaml', '-'], labelled);
    expect(update.stdout).toBe(
      'warning <stdin>:7:30: UserDefinedNetwork blue/net: spec.layer2.mtu: Invalid value: 100: spec.layer2.mtu in body should be greater than or equal to 576 (accepted, since what is stored has it; a new object would be refused)\n' +
        '1 object in 1 file: 0 errors, 1 warning\n',
    );
    expect(update.status).toBe(0);
    expect(run(['-'], labelled).status).toBe(1);
    const changed = run(['--old', '.stored.yaml', '-'], labelled.replace('mtu: 100', 'mtu: 101'));
    expect(changed.stdout).toMatch(
      /^error .*Layer2 is immutable; keep what is stored, or delete the object and make it anew\n/m,
    );
    expect(changed.status).toBe(1);
  });

  test('reads standard input, and answers in JSON', () => {
    const { status, stdout } = run(['--json', '-'], network('net', '{ role: Third }'));
    const answer = JSON.parse(stdout) as { valid: boolean; errors: object[] };
    expect(answer.valid).toBe(false);
    expect(answer.errors[0]).toEqual({
      file: '<stdin>',
      line: 7,
      column: 13,
      object: 'UserDefinedNetwork blue/net',
      field: 'spec.layer2.role',
      value: 'Third',
      message: 'Unsupported value: "Third": supported values: "Primary", "Secondary"',
    });
    expect(status).toBe(1);
  });

  test('reads directories, and fails on warnings when it should be strict', () => {
    expect(run(['.']).stdout).toContain('3 objects in 3 files: 2 errors, 0 warnings');
    const overlapping = network('net', '{ role: Secondary, subnets: [10.128.0.0/24] }');
    expect(run(['-'], overlapping).status).toBe(0);
    expect(run(['--strict', '-'], overlapping).status).toBe(1);
  });

  test('ends with 64, as other commands, when there is nothing to check', () => {
    const none = run([]);
    expect([none.status, none.stderr]).toEqual([
      64,
      'heddle validate: name files or directories to check, or - for standard input\n',
    ]);
    mkdirSync(join(folder, '.empty'));
    const empty = run(['.empty']);
    expect([empty.status, empty.stderr]).toEqual([
      64,
      'heddle validate: no manifests (*.yaml, *.yml, *.json) in .empty\n',
    ]);
    const missing = run(['missing.yaml']);
    expect(missing.status).toBe(64);
    expect(missing.stderr).toMatch(/^heddle validate: missing\.yaml can't be read: /);
  });
});
