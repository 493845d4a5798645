#pragma once
#include <curl/curl.h>

// curl_easy_setopt, curl_multi_setopt and curl_easy_getinfo are variadic, which Swift cannot call: one typed function
// for each kind of option.
static inline CURLcode countersign_curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode countersign_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
  return curl_easy_setopt(easy, option, value);
}
typedef size_t (*countersign_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);
static inline CURLcode countersign_curl_set_data_callback(CURL *easy, CURLoption option,
                                                          countersign_curl_data_callback callback) {
  return curl_easy_setopt(easy, option, callback);
}
static inline CURLMcode countersign_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode countersign_curl_multi_set_socket_callback(CURLM *multi, curl_socket_callback callback,
                                                                   void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
}
static inline CURLMcode countersign_curl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback callback,
                                                                  void *context) {
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
}
static inline CURLcode countersign_curl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode countersign_curl_get_length(CURL *easy, CURLINFO info, long *value) {
  curl_off_t length = -1;
  CURLcode status = curl_easy_getinfo(easy, info, &length);
  *value = (long)length;
  return status;
}
typedef curl_socket_t (*countersign_curl_open_socket_callback)(void *context, curlsocktype purpose,
                                                              struct curl_sockaddr *address);
static inline CURLcode countersign_curl_set_open_socket_callback(CURL *easy, void *context,
                                                                 countersign_curl_open_socket_callback callback) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
// The address is longer than the member that libcurl declares for it, so only C can point to it whole.
static inline const struct sockaddr *countersign_curl_address(const struct curl_sockaddr *address) {
  return &address->addr;
}
