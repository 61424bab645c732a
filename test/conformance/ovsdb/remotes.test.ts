import { describe, expect, test } from 'vitest';
import { parseRemotes, remoteText } from 'ovsdb-client-ts';
import { outcome, refused } from '../../support/run/outcome.ts';

const CLUSTER = '6d53a6dd-2da7-4924-9927-97f613812382';

describe('remotes', () => {
  test.each<[string, readonly string[]]>([
    ['unix:/run/db.sock', ['unix:/run/db.sock']],
    ['unix:/run/a,b.sock', ['unix:/run/a,b.sock']],
    ['unix:/run/a,b,c.sock,tcp:h:1', ['unix:/run/a,b,c.sock', 'tcp:h:1']],
    ['tcp:127.0.0.1:6641', ['tcp:127.0.0.1:6641']],
    ['tcp:127.0.0.1', ['tcp:127.0.0.1:6640']],
    ['tcp:[::1]:6641', ['tcp:[::1]:6641']],
    ['tcp:[::1]', ['tcp:[::1]:6640']],
    ['ssl:[fe80::1%eth0]:6642', ['ssl:[fe80::1%eth0]:6642']],
    ['ssl:db.example.org:6642', ['ssl:db.example.org:6642']],
    ['tcp:a:1,tcp:b:2,ssl:c:3', ['tcp:a:1', 'tcp:b:2', 'ssl:c:3']],
    ['punix:/run/db.sock', ['punix:/run/db.sock']],
    ['ptcp:', ['ptcp:6640']],
    ['ptcp:6641', ['ptcp:6641']],
    ['ptcp:6641:127.0.0.1', ['ptcp:6641:127.0.0.1']],
    ['pssl:6641:[::]', ['pssl:6641:[::]']],
    [`cid:${CLUSTER},tcp:a:1`, ['tcp:a:1']],
  ])('%s', (text, expected) => {
    const { remotes } = parseRemotes(text);
    expect(remotes.map(remoteText)).toEqual(expected);
    expect(parseRemotes(expected.join(',')).remotes).toEqual(remotes);
  });

  test('the cluster among them', () => {
    expect(parseRemotes(`tcp:a:1,cid:${CLUSTER},tcp:b:1`).cluster).toBe(CLUSTER);
    expect(parseRemotes('tcp:a:1').cluster).toBeUndefined();
  });

  test.each([
    '',
    ',',
    'tcp:',
    'tcp::1',
    'tcp:a:b',
    'tcp:a:65536',
    'tcp:::1:6640',
    'tcp:[::1',
    'unix:',
    'udp:a:1',
    'a:1',
    '127.0.0.1',
    `cid:${CLUSTER}`,
    'cid:x,tcp:a:1',
    'ptcp:a',
    'ptcp:6641:[::',
  ])('refused: %j', (text) => {
    expect(outcome(() => parseRemotes(text))).toEqual(refused('bad remote'));
  });
});
