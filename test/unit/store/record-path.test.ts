import { posix } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordPath } from '../../../src/store/manifests/record-path.ts';

const networks = {
  apiVersion: 'k8s.ovn.org/v1',
  plural: 'userdefinednetworks',
  namespaced: true,
};
const nodes = { apiVersion: 'v1', plural: 'nodes', namespaced: false };

describe('where a record is kept', () => {
  test('usual names can be read', () => {
    expect(recordPath(networks, 'tenant-a', 'blue')).toBe(
      'userdefinednetworks.k8s.ovn.org/tenant-a/blue.json',
    );
    expect(recordPath(nodes, '', 'worker-1.example')).toBe('nodes/worker-1.example.json');
  });

  test('no name leaves its folder, hides, or meets another one', () => {
    expect(recordPath(networks, '..', '../../etc/passwd')).toBe(
      'userdefinednetworks.k8s.ovn.org/%2e./%2e.%2f..%2fetc%2fpasswd.json',
    );
    expect(recordPath(nodes, '', '.hidden')).toBe('nodes/%2ehidden.json');
    expect(recordPath(nodes, '', 'A')).toBe('nodes/%41.json');
    expect(recordPath(nodes, '', 'ä\0')).toBe('nodes/%c3%a4%00.json');
  });

  test('two names never share a path, not even where case is ignored, and every path fits', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('a', 'A', '.', '/', '%', '~', '-', '_'), maxLength: 12 }),
      fc.string({ minLength: 150, maxLength: 400 }),
    );
    fc.assert(
      fc.property(name, name, name, name, (ns1, name1, ns2, name2) => {
        const [one, two] = [recordPath(networks, ns1, name1), recordPath(networks, ns2, name2)];
        const same = Buffer.from(`${ns1}\n${name1}`).equals(Buffer.from(`${ns2}\n${name2}`));
        expect(one.toLowerCase() === two.toLowerCase()).toBe(same);
        expect(posix.normalize(one)).toBe(one);
        expect(one.split('/')).toHaveLength(3);
        for (const part of one.split('/')) expect(Buffer.byteLength(part)).toBeLessThan(256);
      }),
    );
  });
});
