/** Commands on objects whose texts are made for terminals: nothing of it gets there but in a visible form. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Installation } from '../../support/run/heddle.ts';

const ESC = '\u001b';
const TRICK = `${ESC}[2J${ESC}[8m\u009b1A\u202eslla\nerror: forged line`;
const COLOURS = new RegExp(`${ESC}\\[\\d+m`, 'g');
// oxlint-disable-next-line no-control-regex
const ACTS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

describe('objects with texts for terminals', () => {
  let installation: Installation;
  beforeAll(() => {
    installation = new Installation();
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blue' } };
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web',
        namespace: 'blue',
        annotations: { 'k8s.ovn.org/pod-networks': TRICK, 'k8s.v1.cni.cncf.io/networks': TRICK },
      },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
    };
    const objects = [node, namespace, pod].map((object) => JSON.stringify(object));
    installation.write('objects.yaml', objects.join('\n---\n'));
    // What a node reports is not to be trusted either.
    const path = join(installation.state, 'objects/zonestatuses.k8s.ovn.org/n1.json');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: 'k8s.ovn.org/v1alpha1',
        kind: 'ZoneStatus',
        namespace: '',
        name: 'n1',
        uid: 'u',
        created: '2026-01-01T00:00:00Z',
        generation: 1,
        written: {
          status: {
            observedAt: '2026-01-01T00:00:00Z',
            message: TRICK,
            ready: false,
            used: ['default'],
            networks: [{ name: 'default', state: 'Failed', message: TRICK }],
            problems: [{ object: `Pod ${TRICK}`, message: TRICK }],
          },
        },
      }),
    );
  });
  afterAll(() => installation[Symbol.dispose]());

  test.each([['status'], ['status', '--json'], ['show', 'blue/web']])(
    'heddle %s %s',
    async (command, ...args) => {
      const { stdout, stderr } = await installation.run(command, ...args);
      const said = `${stdout}${stderr}`;
      expect(said).toMatch(/\\u\{?0*1b/);
      expect(said.replaceAll(COLOURS, '')).not.toMatch(ACTS);
      expect(said).not.toMatch(/^error: forged/m);
    },
  );
});
