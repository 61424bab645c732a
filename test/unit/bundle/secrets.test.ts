import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { databaseWithoutSecrets, objectWithoutSecrets } from '../../../src/bundle/secrets.ts';

const SECRET = 'hunter2-hunter2';

const object = (kind: string, spec: unknown, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'one', namespace: 'blue', ...metadata },
  spec,
});

describe('objects of a bundle', () => {
  test('a pod has its node, its containers by name and their ports, and nothing of what they run', () => {
    const container = {
      name: 'main',
      image: `registry/${SECRET}`,
      env: [{ name: 'PASSWORD', value: SECRET }],
      command: ['run', SECRET],
      args: [SECRET],
      ports: [{ name: 'web', containerPort: 80 }],
    };
    const { spec } = objectWithoutSecrets(
      object('Pod', {
        nodeName: 'n1',
        hostNetwork: true,
        containers: [container],
        initContainers: [container],
        volumes: [{ name: 'v', csi: { volumeAttributes: { key: SECRET } } }],
      }),
    );
    const kept = [{ name: 'main', ports: [{ name: 'web', containerPort: 80 }] }];
    expect(spec).toEqual({
      nodeName: 'n1',
      hostNetwork: true,
      containers: kept,
      initContainers: kept,
    });
  });

  test('annotations of networks stay, those of others go', () => {
    const { metadata } = objectWithoutSecrets(
      object('Namespace', undefined, {
        labels: { team: 'blue' },
        managedFields: [{ manager: SECRET }],
        annotations: {
          'k8s.ovn.org/acl-logging': '{}',
          'k8s.v1.cni.cncf.io/networks': 'extra',
          'service.kubernetes.io/topology-mode': 'Auto',
          'kubectl.kubernetes.io/last-applied-configuration': SECRET,
          'ovn.org.evil.example/x': SECRET,
          'notovn.org/x': SECRET,
          plain: SECRET,
        },
      }),
    );
    expect(metadata).toEqual({
      name: 'one',
      namespace: 'blue',
      labels: { team: 'blue' },
      annotations: {
        'k8s.ovn.org/acl-logging': '{}',
        'k8s.v1.cni.cncf.io/networks': 'extra',
        'service.kubernetes.io/topology-mode': 'Auto',
      },
    });
  });

  test('a NAD of another plugin keeps its text for itself', () => {
    const config = (type: string): string => JSON.stringify({ type, name: 'x', key: SECRET });
    const of = (type: string): unknown =>
      objectWithoutSecrets(object('NetworkAttachmentDefinition', { config: config(type) })).spec;
    expect(of('bridge')).toEqual({ config: '(taken out)' });
    expect(of('ovn-k8s-cni-overlay')).toEqual({ config: config('ovn-k8s-cni-overlay') });
  });

  test('whatever else a pod holds is not in it', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 3 }), fc.string(), (values, key) => {
        const hidden = { [`x${key}`]: SECRET, values };
        const pod = object(
          'Pod',
          { ...hidden, containers: [{ ...hidden, name: 'main' }] },
          { annotations: { [`x${key}`]: SECRET } },
        );
        expect(JSON.stringify(objectWithoutSecrets(pod))).not.toContain(SECRET);
      }),
      { numRuns: 200 },
    );
  });
});

describe('tables of a bundle', () => {
  const table = (headings: readonly string[], ...data: readonly unknown[]): string =>
    JSON.stringify({ caption: 'Interface table', headings, data });

  test('values of keys and columns that are called secret go, the others stay', () => {
    const text = [
      table(
        ['name', 'options', 'auth_token'],
        [
          'ovn-n2-0',
          [
            'map',
            [
              ['psk', SECRET],
              ['remote_ip', '10.0.0.2'],
            ],
          ],
          SECRET,
        ],
      ),
      '',
      table(['_uuid'], [['uuid', 'c0ffee']]),
      '',
    ].join('\n');
    const lines = databaseWithoutSecrets(text).split('\n');
    expect(lines).toHaveLength(4);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      caption: 'Interface table',
      data: [
        [
          'ovn-n2-0',
          [
            'map',
            [
              ['psk', '(taken out)'],
              ['remote_ip', '10.0.0.2'],
            ],
          ],
          '(taken out)',
        ],
      ],
    });
    expect(lines.slice(1)).toEqual(text.split('\n').slice(1));
  });

  test('what is no table is refused as a whole', () => {
    expect(() => databaseWithoutSecrets(`${table(['a'], ['b'])}\n{"torn`)).toThrow(SyntaxError);
  });
});
