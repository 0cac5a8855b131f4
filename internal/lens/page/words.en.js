// English.
export const en = {
  title: 'The lens',
  connected: 'connected',
  disconnected: 'disconnected: trying again',
  lessons: 'Lessons',
};
