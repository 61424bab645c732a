import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { labSettings } from '../../../src/lab/objects.ts';
import type { LabRecord } from '../../../src/lab/state-file.ts';
import { resolveConfiguration } from '../../../src/settings/configuration.ts';

const record = (kind: LabRecord['kind']): LabRecord => ({
  name: 'two',
  kind,
  nodes: 2,
  datapath: 'netdev',
  checkout: '/heddle',
  holder: { pid: 1, started: '1', boot: 'b' },
});

test("with the settings of a lab a command reaches the node that it names, and never takes this machine for the node's host", () => {
  const text = stringify(labSettings(record('host'), { manifests: '/m', state: '/s' }));
  const file = { name: 'heddle.yaml', text };
  const found = (flags: object) => {
    const configuration = resolveConfiguration({ flags, environment: {}, file });
    const { manifests, node, nb, sb, ovs, socket, knownNodes } = configuration;
    return { manifests, node, nb, sb, ovs, socket, knownNodes: knownNodes.join(' ') };
  };
  const common = { manifests: '/m', ovs: undefined, knownNodes: 'n1 n2' };
  expect(found({ node: 'n2' })).toEqual({
    ...common,
    node: 'n2',
    nb: 'unix:/run/heddle-lab/two/n2/ovn/ovnnb_db.sock',
    sb: 'unix:/run/heddle-lab/two/n2/ovn/ovnsb_db.sock',
    socket: '/run/heddle-lab/two/n2/heddle-node.sock',
  });
  expect(found({})).toEqual(common);
});

test("sockets of a virtual machine's nodes can't be reached from this one", () => {
  expect(labSettings(record('vm'), { state: '/s' })).toEqual({ state: '/s' });
});
