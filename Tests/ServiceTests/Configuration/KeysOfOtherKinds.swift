/// Private keys that Apple does not give for purchases. They were made for these tests.
enum KeysOfOtherKinds {
  static let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAKqCC6rP8lp7yq7R
    i1F4FEwtXjm4lAFAnyYqobiGVd/MYpAPnvEMwiQMPM6Q2JsTb8GdqQp3w/AgsF+c
    7XnlwKo7PfyMpF+paBscV7dNNwQViwj5sY8cicGcM4n8TYLA6uRU9jJiKvqHoHvq
    vSXJxPQkvV83LcA2HDrT+IEkHR+FAgMBAAECgYAdJvDhun4ANGwZ6Z+9RR+LSrJy
    gflkIW1UdDOEPguOoP41DUaqhfjneuQmmSM/mFoiK1eMf5+TfbNKFaWQktSWvuWA
    T/ZpYm/3m+T0xA/3yitsX6r6q8VjfLh2UZksxYNJ9wsrhsXVvOFyGLQfDwk9OG8R
    upnWSqq4nv6EIP74AQJBANYl1UPK840JPCLhubT0MbrktasIzAk36i3Ljy4a+88Z
    OvBG8d3W02phfnQd0bkjuaB+tbJNii7byP7bHPsZ4YUCQQDL1NdyXlaARbFOe/v4
    4wcgnRU1Cixzht0GuleQCts77t88Zv84viakFaM8xNk2nhHhHGkwiOpTK/105zfk
    26YBAkEAvQvTFDDTBruTUfvRFDTKvgFvetiePrkUy267LGl3yGCujjUjCcK/Clec
    6Wb1oKowEcYqIoifJzSxYIMQN3+mfQJBAKq/ncuc43GI8EMC8c1IwYu8iytnXl1Y
    uIcOSpPLxGOscy0yStLJ16zUw24AqMVsHSYqmqOhzknmK+hmWRhKOAECQHGyM0e/
    VpGs7e8denJgoWUECJt6bgTZrVIEsE1bYeA8jVDdcGFFgkXGO39wPL21/tsQ4CKC
    KjqGdcCkaa4jZfU=
    -----END PRIVATE KEY-----
    """
  static let p384 = """
    -----BEGIN PRIVATE KEY-----
    MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDBuSg78mmQW4/C+4uD+
    RQfjBBsTvka3Pn70MbQ7YIOv8stpi9D3F+0btg+dbOAkM0KhZANiAARnr646bNu1
    91kKUmjnS+iwBNZq7gTk9F18hBX0lvLrA88ID0tIdLkq1GHfpR4YWvWJvTS8Cdaw
    t/GWCuWXA4GyjxBUF3ZyQ2TWO7kpGnx4ZTuOZMq0RjsphKE1Ndhdcgk=
    -----END PRIVATE KEY-----
    """
  static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIN6FPdZ3241O9QfFRO2AADWabXjsfD2vfFdkSEXE/75a
    -----END PRIVATE KEY-----
    """
}
